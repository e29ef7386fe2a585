/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/*
 * The one BPF object: each probe's programs, from its own room. One object, because all share the
 * state of the threads, and because the kernel's type information is then read only once.
 *
 * Programs are raw_tp where they can be and tp_btf only where they need a pointer to a task that is
 * not the current one: for each tp_btf program the kernel searches all its type names (4 ms).
 */
#include "kernel.h"
#include "events.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "threads.bpf.h"
#include "scratch.bpf.h"
#include "objects.bpf.h"
#include "python.bpf.h"
#include "java.bpf.h"
#include "bash.bpf.h"
#include "interpreters.bpf.h"
#include "php.bpf.h"
#include "ruby.bpf.h"
#include "perl.bpf.h"
#include "sides.bpf.h"
#include "tokio.bpf.h"
#include "go.bpf.h"
#include "coroutines.bpf.h"
#include "tasks.bpf.h"
#include "tags.bpf.h"
#include "stacks.bpf.h"
#include "calls/sites.bpf.h"
#include "calls/destinations.bpf.h"
#include "calls/epoll.bpf.h"
#include "track.bpf.h"
#include "scheduling/scheduling.bpf.c"
#include "lives/lives.bpf.c"
#include "follow/follow.bpf.c"
#include "calls/calls.bpf.c"
#include "opens/opens.bpf.c"
#include "faults/faults.bpf.c"
#include "terminals/terminals.bpf.c"
#include "block/block.bpf.c"
#include "interrupts/interrupts.bpf.c"
#include "kernel_names/kernel_names.bpf.c"
#include "sampler/sampler.bpf.c"

char LICENSE[] SEC("license") = "Dual MIT/GPL";
