/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/* How a thread comes to be tracked, whoever decides that it is. */
#ifndef TIMESINK_TRACK_H
#define TIMESINK_TRACK_H

/* Processes all of whose threads are to be tracked. The value: not because the user named them, see the follow probe. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, u32);
	__type(value, u32);
} seeds SEC(".maps");

/*
 * Threads that were met, and for which there was no memory just then: where interrupts are off the kernel has only a few pieces at hand,
 * and one packet can wake more threads than that. Each is tracked as it comes to a processor, or when user space goes over all
 * tasks, as if it had been when it was met. By thread; what woke it.
 */
struct ts_met {
	u64 t;
	u32 waker;
	u8 wake;
	u8 waker_sends;
	u8 followed;
	u8 pad;
	char waker_name[16];
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, u32);
	__type(value, struct ts_met);
} met SEC(".maps");

/* From now on it is tracked; NULL if somebody else just saw to that, or there is no memory, which counts if nobody tries again. */
static __always_inline struct ts_thread *track(struct task_struct *task, u64 now, bool again)
{
	struct ts_thread *st = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	struct ts_control *c = get_control();

	if (!st || !c) {
		/* It also fails if somebody else makes it at this moment. */
		if (!again && !thread_of(task))
			count_lost(TS_NO_STORAGE, 1);
		return NULL;
	}
	/* Two may find it at the same moment. */
	if (__sync_val_compare_and_swap(&st->claimed, 0, 1))
		return NULL;
	st->id = __sync_fetch_and_add(&c->threads, 1) + 1;
	__sync_fetch_and_add(&c->alive, 1);
	st->tid = task->pid;
	st->registers = bpf_task_pt_regs(task);
	st->t_run = now;
	st->t_out = now;
	st->call = -1;
	st->asked_ns = ~0ULL;
	st->site_credit = TS_SITE_FIRST;
	return st;
}

static __always_inline void set_bases(struct ts_thread *st, struct task_struct *task)
{
	st->cpu_base = task->se.sum_exec_runtime;
	st->delay_base = task->sched_info.run_delay;
	st->delay_at_out = st->delay_base;
	st->exec_at_out = st->cpu_base;
	st->user_base = task->utime;
	st->system_base = task->stime;
	st->voluntary_base = task->nvcsw;
	st->involuntary_base = task->nivcsw;
	st->migrations_base = task->se.nr_migrations;
	st->minor_base = task->min_flt;
	st->major_base = task->maj_flt;
	if (bpf_core_field_exists(task->ioac.syscr)) {
		st->reads_base = task->ioac.syscr;
		st->writes_base = task->ioac.syscw;
	}
}

static __always_inline void tell_start(struct ts_thread *st, struct task_struct *task, u32 how, u32 parent,
				       u64 since, u64 resident, u64 now)
{
	struct ts_start *e = RESERVE(struct ts_start, TS_START);

	if (!e)
		return;
	head(&e->head, TS_START, st->id, now);
	e->tid = task->pid;
	e->pid = task->tgid;
	e->parent = parent;
	e->parent_pid = BPF_CORE_READ(task, real_parent, tgid);
	e->call_since = since;
	e->resident = resident;
	e->start_time = BPF_CORE_READ(task, start_time);
	e->how = how;
	e->uid = BPF_CORE_READ(task, cred, uid.val);
	bpf_probe_read_kernel(e->name, sizeof(e->name), task->comm);
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
}

/*
 * What a thread that ran before is doing as it begins to be tracked. Until that is set, switches pass it by: should it
 * have left its processor meanwhile, this is seen here. (Should it have come to one, that is made up for at its next
 * switch.)
 */
static __always_inline void set_state(struct ts_thread *st, struct task_struct *task)
{
	if (*(volatile unsigned int *)&task->on_cpu) {
		st->state = TS_CPU;
		barrier();
		if (*(volatile unsigned int *)&task->on_cpu || st->state != TS_CPU)
			return;
	}
	st->state = task->__state == TASK_RUNNING ? TS_READY : TS_BLOCKED;
}

#endif
