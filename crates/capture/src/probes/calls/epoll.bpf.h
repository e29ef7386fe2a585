/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/*
 * Which descriptor an epoll found ready. It gives back a word of the program's own choice: most store the descriptor there;
 * Go, tokio, nginx, PostgreSQL and .NET a pointer or a number of their own. For these it is kept which descriptor the word was
 * given for, by epoll_ctl or, where that came before the recording, by what /proc says.
 */
#ifndef TIMESINK_EPOLL_H
#define TIMESINK_EPOLL_H

#define TS_EPOLL_CTL_DEL 2

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct ts_watched);
	__type(value, u32);
} watched SEC(".maps");

static __always_inline struct ts_watched watched_by(struct task_struct *task, u64 word)
{
	return (struct ts_watched){.pid = task->tgid, .word = word};
}

/* Notes the word that a program has given for a descriptor, unless it is that descriptor. */
static __noinline int watch(struct task_struct *task, struct pt_regs *regs)
{
	struct epoll_event_user event = {};
	struct ts_watched key;
	u32 descriptor = regs->dx;

	if (regs->si == TS_EPOLL_CTL_DEL || bpf_probe_read_user(&event, sizeof(event), (void *)regs->r10))
		return 0;
	if (event.data <= TS_MOST_DESCRIPTOR)
		return 0;
	key = watched_by(task, event.data);
	bpf_map_update_elem(&watched, &key, &descriptor, BPF_ANY);
	return 0;
}

/* The first descriptor that was found ready; -1: it is not known. */
static __noinline s32 ready_in_epoll(struct task_struct *task, struct pt_regs *regs)
{
	struct epoll_event_user event = {};
	struct ts_watched key;
	u32 *descriptor;

	if (bpf_probe_read_user(&event, sizeof(event), (void *)regs->si))
		return -1;
	if (event.data <= TS_MOST_DESCRIPTOR)
		return event.data;
	key = watched_by(task, event.data);
	descriptor = bpf_map_lookup_elem(&watched, &key);
	return descriptor ? (s32)*descriptor : -1;
}

#endif
