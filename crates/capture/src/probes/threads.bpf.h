/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/*
 * What all probes stand on: the state kept for each tracked thread, the ring to user space, the
 * counters of what did not fit into it, and the words user space fixed before loading.
 */
#ifndef TIMESINK_THREADS_H
#define TIMESINK_THREADS_H

enum ts_state {
	TS_CPU = 1,
	TS_READY = 2,
	TS_BLOCKED = 3,
};

/* Stacks a thread remembers to have copied: of waits, and of samples, which are less often the same. */
#define TS_WAIT_STACKS 32
#define TS_SAMPLE_STACKS 8
#define TS_KNOWN 8 /* objects a thread remembers to have announced */
#define TS_SITES 64 /* calls on objects that a thread counts, see calls/sites.bpf.h */
#define TS_NEW_SITES 32 /* calls that it counts the objects of */

/* A file, a pipe, a socket or the like, see objects.bpf.h. */
struct ts_identity {
	u64 key;
	u32 device;
	u32 kind; /* enum ts_object_kind; 0: none */
	u64 slot; /* where in the table of descriptors it stands */
};

/* A task of tokio: its number is its process's own. */
struct ts_future {
	u64 number;
	u64 pid;
};

struct ts_thread {
	u32 id;
	u32 tid;
	u32 claimed; /* somebody is about to fill this in, or has */
	u8 state; /* enum ts_state; 0: not known yet, switches pass it by */
	u8 how; /* of the last switch-out, as it was then */
	u8 dead;
	u8 waker_sends;
	s16 call;
	u8 wake;
	u8 futex_operation;
	u8 futex_contended;
	u8 dispatched;
	u8 compat;
	u8 polled; /* what the one descriptor was polled for that it blocked on; 0: it did not */
	u8 followed; /* it came in because of what it exchanged with others, or its parent did */
	u8 one_place; /* it blocked where all waits in this call do */
	u32 word; /* TS_C_... of the call it blocked in */
	u64 about; /* the descriptor or futex it blocked on */
	u64 registers; /* where those of user space are kept while it is in the kernel */
	u64 t_run; /* start of the last run */
	u64 t_out; /* end of the last run */
	u64 t_wake; /* last time somebody woke it, where the kernel does not keep when it was queued */
	u64 delay_at_out; /* the kernel's run delay when the last run ended */
	u64 exec_at_out; /* its sum of run time then */
	u32 waker;
	u32 run_tracer_ns; /* our time within the current run */
	char waker_name[16];
	/* Sums, and where the kernel's stood when we began. */
	u64 switching_ns; /* how long it was switched in before it began to run: it counts as that already */
	u64 taken_before; /* on its processor, when it began to run; 0: not known */
	u64 taken_ns; /* on its processors, while it ran */
	u64 taken_told; /* of it, in TS_TAKEN ns, in its turns */
	u64 cpu_ns, ready_ns, wait_ns, tracer_ns;
	u64 cpu_base, delay_base, user_base, system_base;
	u64 voluntary_base, involuntary_base, migrations_base, minor_base, major_base;
	u64 reads_base, writes_base;
	u32 samples_user, samples_kernel;
	u64 stacks_ns, returns_ns; /* what recording it took, as its end tells it */
	u64 calls, wakes;
	u32 owner; /* futex: read when it blocked */
	u64 asked_ns;
	/* The file whose page is being read in a fault. */
	u64 fault_key;
	u32 fault_device;
	/* The call being timed. */
	u32 call_epoch;
	u64 call_since;
	u64 long_wait; /* t_out of the last long wait in this call */
	u64 stack_owed; /* t_out of a long wait in this call whose stack is to be taken as it returns; 0: of none */
	u64 sent_key; /* of the socket that it last sent something on since its last long wait; 0: none */
	u32 sent_device;
	u32 returns; /* how many calls had their return measured */
	struct ts_identity called; /* what the last call was made on that returned, or what the present one closes */
	u32 batched;
	/* Which stacks were copied lately, by their registers, and how often that saved a copy. */
	u32 stacks[TS_WAIT_STACKS + TS_SAMPLE_STACKS];
	u64 stack_end; /* where it began, and so where its stack ends; 0: not known */
	u32 stack_hits;
	s16 place_call; /* in which it last waited where all waits in that call do, as it was told; 0: in none */
	u16 place_waits; /* how often since it was first told */
	u8 stack_taken; /* of the present wait */
	u8 short_delays; /* in a row, of those in which it lost the processor */
	u8 sites_due; /* of so many calls to come the stacks are taken, whatever they are */
	u8 exiting; /* after exit */
	u8 unqueued; /* it lost the processor as it was about to block: it is ready, but the kernel does not count it as queued */
	u64 python; /* where Python keeps what it knows of the thread */
	u32 no_python; /* how often it knew nothing */
	u8 short_waits[16]; /* in a row, by call */
	u64 known[TS_KNOWN];
	u64 site_t; /* when the call returned whose stack is to be taken; 0: none is */
	u32 site_credit; /* in calls, how much was earned for stacks of calls */
	u32 path_mark; /* of the path that the call looked up; 0: none */
	u64 sites[TS_SITES]; /* a mark of call and object, and how often */
	u64 task; /* that it was last seen at work for; 0: the runtime itself */
	u64 task_seen; /* when; 0: it was not */
	u64 tag; /* that it was last seen to have; 0: none */
	u64 tag_seen; /* when; 0: it was not looked at */
	u64 tags[TS_TAG_PLACES]; /* that the places were last seen to have for it */
	u32 tag_order[TS_TAG_PLACES]; /* which of them changed later: the higher */
	u32 tag_changes;
	u32 labels_only; /* so many more times it is believed that its process has no tags but Go's labels */
	u32 pad4;
	u32 tag_latest; /* of the places looked at so far, when the one that has the tag changed */
	u64 tag_found, tag_text; /* that tag, and where its text is */
	u64 task_at; /* where its runtime keeps that task */
	u64 task_object; /* of asyncio: the task itself; 0: it has none */
	u64 task_labels; /* of Go: where that has its labels; 0: it has none */
	struct ts_go go; /* of its program, once that is known */
	u64 go_thread; /* what Go keeps of the thread itself; 0: not known yet */
	u64 go_scheduler; /* the goroutine that Go's scheduler runs as on it */
	u64 task_before; /* that it was seen at work for before the present call */
	u64 future_stack; /* until when stacks of tasks of tokio were taken, as they are earned, because nothing else tells what those are */
	struct ts_future future; /* that one */
	u32 new_sites[TS_NEW_SITES]; /* how many objects it has made a call on, by call */
	struct ts_call batch[TS_BATCH];
};
/*
 * With 80 bytes of the kernel's own this is made anew for each thread, in pieces of 2 kB or of 4 kB. Larger ones take longer to have: a
 * fork took 5.7 us in our program with 2272 bytes here, 3.8 us with 1920.
 */
_Static_assert(sizeof(struct ts_thread) <= 2048 - 80, "thread");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct ts_thread);
} threads SEC(".maps");

#define TS_RING (16 << 20)
#define TS_RING_KEPT (1 << 20) /* of it, for lives only */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, TS_RING);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, TS_COUNTERS);
	__type(key, u32);
	__type(value, u64);
} lost SEC(".maps");

/* Shared with user space. A map of its own, so that it can be mapped there by name. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ts_control);
} control SEC(".maps");

/* In a section of its own, so that user space can fill it before loading without knowing offsets. */
const volatile struct ts_config config SEC(".rodata.config") = {};

/* Since 6.2 a pointer can be declared to point at a kernel type: reads through it are then single
 * instructions, where otherwise each is a call of a helper. */
extern void *bpf_rdonly_cast(const void *pointer, u32 type) __ksym __weak;
#define AS(type, pointer) ((struct type *)bpf_rdonly_cast(pointer, config.types.type))

/* A task to follow pointers from. For each pointer read from one that it trusts the verifier searches
 * all type names, half a millisecond each; helpers that take a task want the trusted one. */
static __always_inline struct task_struct *plain(struct task_struct *task)
{
	return bpf_ksym_exists(bpf_rdonly_cast) ? AS(task_struct, task) : task;
}

static __always_inline struct ts_control *get_control(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&control, &zero);
}

static __always_inline struct ts_thread *thread_of(struct task_struct *task)
{
	return bpf_task_storage_get(&threads, task, 0, 0);
}

static __always_inline void count_lost(u32 kind, u64 n)
{
	u64 *counter = bpf_map_lookup_elem(&lost, &kind);

	if (counter)
		*counter += n;
}

/*
 * Whether there is room for what comes in masses. The last of the ring is kept for the lives of
 * threads: with a thread's end come its sums, by which the books balance whatever else was lost.
 */
static __always_inline bool has_room(u32 kind)
{
	switch (kind) {
	case TS_START:
	case TS_EXEC:
	case TS_EXIT:
	case TS_END:
		return true;
	}
	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) < TS_RING - TS_RING_KEPT;
}

/* Room for an event of this kind, or NULL and the loss is counted. */
#define RESERVE(type, event_kind)                                                                  \
	({                                                                                         \
		type *room = NULL;                                                                 \
		if (has_room(event_kind))                                                          \
			room = bpf_ringbuf_reserve(&ring, sizeof(type), 0);                        \
		if (!room)                                                                         \
			count_lost(event_kind, 1);                                                 \
		room;                                                                              \
	})

static __always_inline void head(struct ts_head *h, u8 kind, u32 thread, u64 t)
{
	h->kind = kind;
	h->pad = 0;
	h->cpu = bpf_get_smp_processor_id();
	h->thread = thread;
	h->t = t;
}

/* Begins to tell that a thread is at work for another task than before; what is not known is 0. */
static __always_inline void begin_task(struct ts_task *e, struct ts_thread *st, u32 kind, u32 pid, u64 number, u64 since)
{
	head(&e->head, TS_TASK, st->id, since > st->task_seen ? since : st->task_seen);
	e->seen_before = st->task_seen;
	e->number = number;
	e->parent = 0;
	e->started_at = 0;
	e->entry = 0;
	e->kind = kind;
	e->pid = pid;
	e->node = 0;
	e->left_node = 0;
}

/* At the end of the recording somebody else goes over all threads, on a processor of its own. */
static __always_inline void on_its_processor(struct ts_head *h, struct task_struct *task)
{
	if (bpf_core_field_exists(task->wake_cpu))
		h->cpu = task->wake_cpu;
}

/* How the kernel decides when and where a thread runs. */
static __always_inline void note_scheduling(struct ts_end *e, struct task_struct *task)
{
	u32 size = bpf_core_field_size(task->cpus_mask);

	e->nice = task->static_prio - TASK_NICE_0;
	e->policy = task->policy;
	e->realtime_priority = task->rt_priority;
	e->allowed_count = task->nr_cpus_allowed;
	e->pad = 0;
	__builtin_memset(e->allowed, 0, sizeof(e->allowed));
	if (size > sizeof(e->allowed))
		size = sizeof(e->allowed);
	bpf_probe_read_kernel(e->allowed, size, &task->cpus_mask);
}

static __always_inline u32 call_word(s16 call)
{
	u64 index = (u16)call;

	if (index >= 512)
		return 0;
	/* clang drops the mask as needless, the verifier needs it. */
	barrier_var(index);
	return config.call_words[index & 511];
}

/* The call a thread is in, from the registers it entered the kernel with; -1 outside of a call. */
static __always_inline s16 call_of(struct task_struct *task, struct pt_regs *regs, u8 *compat)
{
	s64 number = (s64)regs->orig_ax;

	*compat = (task->thread_info.status & TS_COMPAT) != 0;
	if (number < 0 || number > 0x7fff)
		return -1;
	return number;
}

/* A thread's registers in user space. They stay at one place all its life. */
static __always_inline struct pt_regs *registers_of(struct ts_thread *st, struct task_struct *task)
{
	return bpf_ksym_exists(bpf_rdonly_cast) ? AS(pt_regs, (void *)st->registers) :
						  (void *)bpf_task_pt_regs(task);
}

static __always_inline u64 argument(struct pt_regs *regs, u32 index)
{
	switch (index) {
	case 1:
		return regs->di;
	case 2:
		return regs->si;
	case 3:
		return regs->dx;
	case 4:
		return regs->r10;
	case 5:
		return regs->r8;
	case 6:
		return regs->r9;
	}
	return 0;
}

static __always_inline u64 resident_bytes(struct mm_struct *mm)
{
	s64 pages = 0;

	if (!mm)
		return 0;
	/* File, anonymous and shared pages; index 2 is swap, which is not resident. */
	if (bpf_core_field_exists(((struct mm_struct___old *)0)->rss_stat.count)) {
		struct mm_struct___old *old = (void *)mm;

		pages = BPF_CORE_READ(old, rss_stat.count[0].counter) +
			BPF_CORE_READ(old, rss_stat.count[1].counter) +
			BPF_CORE_READ(old, rss_stat.count[3].counter);
	} else if (bpf_core_field_exists(mm->rss_stat[0].count)) {
		pages = BPF_CORE_READ(mm, rss_stat[0].count) + BPF_CORE_READ(mm, rss_stat[1].count) +
			BPF_CORE_READ(mm, rss_stat[3].count);
	}
	return pages < 0 ? 0 : (u64)pages * 4096;
}

/*
 * How many calls were timed on each processor, and what that and samples took, for the budget: not by thread, because threads
 * that hand work to each other on one processor all wait for each other's calls. Calls are counted as batches are handed over,
 * which costs less; a thread is behind by less than a batch.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, TS_CALLS_COUNTERS);
	__type(key, u32);
	__type(value, u64);
} timed SEC(".maps");

static __always_inline void count_timed(u32 whose, u64 many)
{
	u64 *calls = bpf_map_lookup_elem(&timed, &whose);

	if (calls)
		*calls += many;
}

/* Whether a thread has run all the time since then, as far as was seen: what was measured since is ours alone. */
static __always_inline bool has_run_since(struct ts_thread *st, u64 since)
{
	return st->state == TS_CPU && st->t_run <= since;
}

/* A stack was taken for a sample or for a call, which the thread had to wait for. */
static __always_inline void note_stack_taken(struct ts_thread *st, u32 whose, u64 since)
{
	u64 took = bpf_ktime_get_ns() - since;

	if (!has_run_since(st, since))
		return;
	st->stacks_ns += took;
	st->run_tracer_ns += took;
	count_timed(whose, took);
}

/* Hand the batch of timed calls to user space. */
static __always_inline void flush_calls(struct ts_thread *st, u64 now)
{
	struct ts_calls *event;

	if (!st->batched)
		return;
	count_timed(TS_CALLS_RECORDED, st->batched);
	event = has_room(TS_CALLS) ? bpf_ringbuf_reserve(&ring, sizeof(*event), 0) : NULL;
	if (!event) {
		count_lost(TS_CALLS, st->batched);
	} else {
		head(&event->head, TS_CALLS, st->id, now);
		event->count = st->batched;
		event->pad = 0;
		__builtin_memcpy(event->call, st->batch, sizeof(event->call));
		bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	}
	st->batched = 0;
}

#endif
