/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/*
 * Who runs, who waits and who woke whom. Everything that costs is done for a thread that is about
 * to run again: its registers, descriptors and kernel stack are still as they were when it blocked,
 * and how long it waited is known, so short waits stay cheap. Only what lies in the memory of the
 * blocking program itself (time-outs, the owner of a lock) is read as it blocks.
 */

#include "blocking.bpf.h"

/* The last threads that ran on each processor. */
#define TS_HISTORY 8
struct ts_ran {
	u64 since;
	u32 tid;
	u32 pad;
	char name[16];
};
struct ts_history {
	u64 position;
	s64 least; /* distance lately of our clock from the scheduler's */
	u64 seen; /* when that was looked at, by the scheduler's clock; 0: never */
	u64 clock, clock_task; /* the scheduler's, at this switch */
	u64 clock_before; /* at the one before */
	u64 dense; /* looks at our clock since there was last a pause between them */
	u64 rq; /* where this processor's run queue is */
	u64 cost; /* of the switch program, as last measured */
	/* Of the present switch. Here and not on the stack, because the verifier follows each value that it knows there. */
	u64 measured; /* our clock was read */
	struct ts_identity id; /* what the one who comes waited for */
	struct ts_ran ran[TS_HISTORY];
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ts_history);
} history SEC(".maps");

/*
 * Turns are gathered by processor and handed over sixteen at a time: a place in the ring costs two
 * atomic operations and memory that is in no cache. What lies here long is handed over by the next
 * switch or by the sampler, whichever comes first.
 */
#define TS_GATHERED_LONG 100000000
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ts_gathered);
} gathered SEC(".maps");

static __always_inline struct ts_gathered *gathered_here(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&gathered, &zero);
}

static __noinline int hand_over(struct ts_gathered *g)
{
	u32 count = g->event.count;

	head(&g->event.head, TS_TURNS, 0, g->event.turn[(count - 1) & (TS_GATHER - 1)].head.t);
	if (!has_room(TS_TURNS) || bpf_ringbuf_output(&ring, &g->event, sizeof(g->event), BPF_RB_NO_WAKEUP))
		count_lost(TS_TURN, count);
	g->event.count = 0;
	return 0;
}

static __always_inline struct ts_turn *place_for_turn(struct ts_gathered *g, u64 now)
{
	u32 at = g->event.count;

	if (!at)
		g->since = now;
	g->event.count = at + 1;
	barrier_var(at);
	return &g->event.turn[at & (TS_GATHER - 1)];
}

/* What kind of interrupt work a processor is in; the interrupts probe keeps it. */
struct ts_interrupt {
	u32 softirq; /* vector + 1 */
	u32 handler; /* inside a device's handler */
	u32 timer; /* inside a timer's function */
	u32 block; /* this interrupt completed a block request */
	u64 rq; /* the processor's queue of threads */
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ts_interrupt);
} interrupt SEC(".maps");

static __always_inline void read_name(char *name, struct task_struct *task)
{
	if (bpf_ksym_exists(bpf_rdonly_cast)) {
		struct list_head *words = AS(list_head, task->comm);

		((u64 *)name)[0] = (u64)words->next;
		((u64 *)name)[1] = (u64)words->prev;
	} else {
		bpf_probe_read_kernel(name, 16, task->comm);
	}
}

#define TS_IN_SOFTIRQ 0x100 /* of the count of what keeps a processor from switching: it serves softirqs */

/*
 * Whether this processor serves softirqs, by its own count. It lies at a known distance from the processor's queue of threads,
 * which is found by way of the thread that runs. The stack does not tell: an interrupt of user space is served on the thread's.
 */
static __always_inline bool serves_softirqs(struct ts_interrupt *in)
{
	struct task_struct *current;
	struct cfs_rq *queue;
	u32 count = 0;

	if (!in->rq) {
		current = bpf_get_current_task_btf();
		queue = plain(current)->se.cfs_rq;
		if (!queue)
			return false;
		in->rq = (u64)queue->rq;
	}
	bpf_probe_read_kernel(&count, sizeof(count), (void *)(*(volatile u64 *)&in->rq + config.count_from_queue));
	return count & TS_IN_SOFTIRQ;
}

/* The softirq that this processor is in: its vector + 1; 0: none. Where the count tells, the note of the last one stays when it is over. */
static __always_inline u32 softirq_here(struct ts_interrupt *in)
{
	if (in->softirq && config.count_from_queue && !serves_softirqs(in))
		return 0;
	return in->softirq;
}

/* In an interrupt the current thread is whoever was interrupted, not the waker. */
static __always_inline u8 wake_context(void)
{
	u32 zero = 0, softirq;
	struct ts_interrupt *in = bpf_map_lookup_elem(&interrupt, &zero);

	if (!in || !(((u64 *)in)[0] | ((u64 *)in)[1]))
		return TS_WAKE_TASK;
	if (in->timer)
		return TS_WAKE_TIMER;
	softirq = softirq_here(in);
	if (in->block && (in->handler || softirq))
		return TS_WAKE_BLOCK;
	if (in->handler)
		return TS_WAKE_IRQ;
	switch (softirq) {
	case 0:
		return TS_WAKE_TASK;
	case 1 + 1: /* TIMER_SOFTIRQ */
	case 8 + 1: /* HRTIMER_SOFTIRQ */
		return TS_WAKE_TIMER;
	case 2 + 1: /* NET_TX_SOFTIRQ */
	case 3 + 1: /* NET_RX_SOFTIRQ */
		return TS_WAKE_NET;
	case 4 + 1: /* BLOCK_SOFTIRQ */
		return TS_WAKE_BLOCK;
	}
	return TS_WAKE_IRQ;
}

/*
 * Kernels that count run delay keep the time at which a thread was queued. Where the scheduler's clock is not stable (the
 * TSC was found to be unreliable) it stands still and jumps by milliseconds, and is not to be compared with ours.
 */
static __always_inline bool has_queue_time(void)
{
	return !config.unstable_clock && bpf_core_field_exists(((struct task_struct *)0)->sched_info.last_queued);
}

/*
 * Where the waker is, if the wait was long; only for waits that were expected to be, so that the others
 * need not look at the clock.
 */
static __noinline void take_waker_stack(struct ts_thread *st, struct task_struct *current)
{
	struct ts_thread *waker;
	struct ts_stack *s;
	long bytes;

	if (st->wake != TS_WAKE_TASK || bpf_ktime_get_ns() - st->t_out < config.threshold_ns)
		return;
	/* Whose work a worker does is somewhere else by now. */
	if (st->waker != current->pid)
		return;
	waker = thread_of(current);
	/* Who ends has left its program: the same part of the kernel is in each such stack, at 2 us for each child of a shell. */
	if (waker && waker->exiting)
		return;
	s = new_stack(TS_IN_SWITCH, waker ? waker : st, current, TS_OF_WAKER, st->id, st->t_out);
	if (!s)
		return;
	bytes = bpf_get_task_stack(current, s->frame, sizeof(s->frame), 0);
	s->frames = bytes > 0 ? (u32)bytes / 8 : 0;
	/* What an unrecorded process has mapped is not known. */
	if (waker && plain(current)->mm)
		user_registers(s, registers_of(waker, current));
	send_stack(TS_IN_SWITCH);
}

/* Who gave a piece of work on a terminal to a worker of the kernel, and for whom a worker is at work; the terminals
 * probe keeps both. */
struct ts_giver {
	u32 tid;
	u32 pad;
	char name[16];
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, u64);
	__type(value, struct ts_giver);
} works SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, u32);
	__type(value, struct ts_giver);
} workers SEC(".maps");

static __always_inline bool is_worker(struct task_struct *task)
{
	return (plain(task)->flags & PF_WQ_WORKER) != 0;
}

/* Whether a worker of the kernel wakes somebody because another thread gave it work: that one is the waker. */
static __noinline bool note_giver(struct ts_thread *st, u32 worker)
{
	struct ts_giver *giver = bpf_map_lookup_elem(&workers, &worker);

	if (!giver)
		return false;
	st->waker = giver->tid;
	__builtin_memcpy(st->waker_name, giver->name, 16);
	return true;
}

/* Over loopback the sender itself does the receiver's interrupt work. */
static __always_inline bool is_sending(struct task_struct *current)
{
	u8 compat;
	s16 call = call_of(current, (void *)bpf_task_pt_regs(current), &compat);

	return !compat && (call_word(call) & TS_C_SENDS) != 0;
}

/* Who wakes a thread, and in what context. */
static __always_inline void note_waker(struct ts_thread *st, struct task_struct *current, u8 wake)
{
	st->wake = wake;
	st->waker_sends = 0;
	/* Counted with the one who is woken: the sum over all is what the cost is reckoned from. */
	st->wakes++;
	if (st->wake == TS_WAKE_TASK && is_worker(current) && note_giver(st, current->pid))
		;
	else if (st->waker != current->pid) {
		st->waker = current->pid;
		read_name(st->waker_name, current);
	}
	if (st->wake == TS_WAKE_NET)
		st->waker_sends = is_sending(current);
	if (!has_queue_time())
		st->t_wake = bpf_ktime_get_ns();
}

SEC("tp_btf/sched_waking")
int on_waking(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct ts_thread *st = thread_of(task);
	struct task_struct *current;

	if (!st)
		return 0;
	current = bpf_get_current_task_btf();
	note_waker(st, current, wake_context());
	if (st->stack_taken && st->state == TS_BLOCKED)
		take_waker_stack(st, current);
	return 0;
}

/*
 * The scheduler's clock and ours tick alike but do not show the same: either may be ahead, so their distance has a sign.
 * What is measured at a switch is never less than the true one, and the least that was seen lately is near it. (The least
 * may grow by 500 parts per million, as much as the one clock may be slewed against the other.)
 */
static __always_inline void compare_clocks(struct ts_history *h, u64 now)
{
	s64 distance = now - h->clock;

	if (h->seen)
		h->least += (h->clock - h->seen) >> 11;
	if (!h->seen || distance < h->least)
		h->least = distance;
	h->seen = h->clock;
}

/* Read the scheduler's clocks of this processor, once a switch. Zero: there are none to be read (a
 * kernel without groups of processes, or a clock that is not stable). */
static __always_inline void read_clocks(struct ts_history *h, struct task_struct *task)
{
	struct cfs_rq *queue;
	struct rq *rq;

	if (config.unstable_clock)
		return;
	h->clock_before = h->clock;
	if (bpf_ksym_exists(bpf_rdonly_cast) && h->rq) {
		rq = AS(rq, (void *)h->rq);
	} else {
		queue = plain(task)->se.cfs_rq;
		if (!queue)
			return;
		rq = queue->rq;
		if (!rq)
			return;
		h->rq = (u64)rq;
	}
	h->clock = rq->clock;
	h->clock_task = rq->clock_task;
}

/*
 * The time of this switch. The scheduler has just read its clock to choose. Where switches are so many
 * that their cost matters, the distance of the clocks is known well from a few of them, and the others
 * need not pay for reading ours: only now and then, and wherever the scheduler's was not read anew,
 * because the one who comes was woken a moment ago.
 */
#define TS_DENSE 1000000
#define TS_LOOKS 12
static __always_inline u64 time_of_switch(struct ts_history *h, struct task_struct *next)
{
	bool measured;
	u64 now;

	if (h->clock - h->seen > TS_DENSE)
		h->dense = 0;
	measured = h->dense < TS_LOOKS || !(h->position & 15) || h->clock == h->clock_before ||
		    next->sched_info.last_queued == h->clock;
	h->measured = measured;
	if (!measured)
		return h->clock + h->least;
	now = bpf_ktime_get_ns();
	h->dense++;
	if (!h->rq) {
		/* Our own has to serve. */
		h->clock = now;
		h->clock_task = 0;
	}
	compare_clocks(h, now);
	return now;
}

/*
 * How long ago the scheduler stopped its clock for a thread that leaves. What it does from then until
 * the switch counts for nobody, or for the one who comes: taking the thread off its queues and, before
 * idling, looking for work elsewhere, a microsecond or two. If the host of a virtual machine takes the
 * processor just then, or the clock is not read anew after a wake-up, it is as long as that takes.
 */
#define TS_LONGEST_SWITCH 1000000000
static __always_inline u64 behind_scheduler(struct ts_history *h, struct task_struct *task, u64 now)
{
	u64 behind;

	if (!h->clock_task)
		return 0;
	/* The clock may have been read again while looking for work: the thread's own time stopped when
	 * it was last added to. */
	behind = now - h->clock - h->least + h->clock_task - task->se.exec_start;
	/* Longer: the two clocks have come apart, as they do when a machine is put to sleep. */
	return behind < TS_LONGEST_SWITCH ? behind : 0;
}

#include "queued.bpf.h"

/*
 * So much of the time has the scheduler counted as nobody's on this processor, give or take a constant: what the host of a
 * virtual machine took, and interrupts where the kernel counts them apart. Zero: it is not known.
 */
static __always_inline u64 taken_here(struct ts_history *h)
{
	return h->clock_task ? h->clock - h->clock_task : 0;
}

/* What was taken while a thread ran and while it was switched in, once it leaves. */
static __always_inline void note_taken(struct ts_thread *st, struct ts_history *h, u64 ran)
{
	u64 taken = taken_here(h), counted = ran + st->switching_ns;

	if (st->taken_before && taken > st->taken_before) {
		taken -= st->taken_before;
		st->taken_ns += taken < counted ? taken : counted;
	}
}

/* What was taken of the thread's last run, as its turn has it. */
static __always_inline u16 tell_taken(struct ts_thread *st)
{
	u64 more = st->taken_ns / TS_TAKEN - st->taken_told;

	if (more > 0xffff)
		more = 0xffff;
	st->taken_told += more;
	return more;
}

/* A thread leaves the processor for the last time. */
static __always_inline void end_thread(struct ts_thread *st, struct task_struct *task, u64 now, bool alive)
{
	struct ts_end *e;

	flush_calls(st, now);
	e = RESERVE(struct ts_end, TS_END);
	if (!e)
		return;
	head(&e->head, TS_END, st->id, now);
	if (alive)
		on_its_processor(&e->head, task);
	e->t_run = alive ? now : st->t_run;
	e->cpu_ns = st->cpu_ns;
	e->ready_ns = st->ready_ns;
	e->wait_ns = st->wait_ns;
	e->tracer_ns = st->tracer_ns;
	e->kernel_cpu_ns = task->se.sum_exec_runtime - st->cpu_base;
	e->kernel_ready_ns = task->sched_info.run_delay - st->delay_base;
	e->user_ns = task->utime - st->user_base;
	e->system_ns = task->stime - st->system_base;
	e->samples_user = st->samples_user;
	e->samples_kernel = st->samples_kernel;
	e->voluntary = task->nvcsw - st->voluntary_base;
	e->involuntary = task->nivcsw - st->involuntary_base;
	e->migrations = task->se.nr_migrations - st->migrations_base;
	e->faults_minor = task->min_flt - st->minor_base;
	e->faults_major = task->maj_flt - st->major_base;
	e->calls = st->calls;
	e->wakes = st->wakes;
	e->reads = 0;
	e->writes = 0;
	if (bpf_core_field_exists(task->ioac.syscr)) {
		e->reads = task->ioac.syscr - st->reads_base;
		e->writes = task->ioac.syscw - st->writes_base;
	}
	e->tid = task->pid;
	e->pid = task->tgid;
	e->exit_code = task->exit_code;
	e->alive = alive;
	e->uid = plain(task)->cred->uid.val;
	e->run_tracer_ns = st->run_tracer_ns;
	note_scheduling(e, task);
	e->run_taken = tell_taken(st);
	e->taken_ns = st->taken_ns;
	e->stacks_ns = st->stacks_ns;
	e->returns_ns = st->returns_ns;
	e->returns = st->returns;
	bpf_probe_read_kernel(e->name, sizeof(e->name), task->comm);
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
}

static __always_inline void switch_out(struct ts_thread *st, struct task_struct *task, struct ts_history *h, u64 now,
				       u32 state, bool preempted)
{
	u64 ours = st->run_tracer_ns;
	u64 ran;

	/* Another processor's notion of the time may be a little ahead. */
	if (now < st->t_run)
		now = st->t_run;
	ran = now - st->t_run;
	if (ours > ran)
		ours = ran;
	st->cpu_ns += ran - ours;
	st->tracer_ns += ours;
	note_taken(st, h, ran);
	st->t_out = now;
	st->delay_at_out = task->sched_info.run_delay;
	st->exec_at_out = task->se.sum_exec_runtime;
	st->how = st->exiting ? TS_EXITING : 0;
	if (preempted || state == TASK_RUNNING) {
		st->state = TS_READY;
		st->how |= TS_PREEMPTED;
		st->unqueued = state != TASK_RUNNING;
		if (bpf_core_type_exists(struct task_struct___throttled) &&
		    bpf_core_field_exists(((struct task_struct___throttled *)0)->throttled)) {
			if (BPF_CORE_READ((struct task_struct___throttled *)task, throttled))
				st->how |= TS_THROTTLED;
		} else if (bpf_core_field_exists(((struct cfs_rq *)0)->throttle_count) &&
			   BPF_CORE_READ(task, se.cfs_rq, throttle_count) > 0) {
			st->how |= TS_THROTTLED;
		}
		take_delay_stack(st, now);
		return;
	}
	st->state = TS_BLOCKED;
	if (state & TASK_DEAD) {
		struct ts_control *c = get_control();

		st->dead = 1;
		if (c)
			__sync_fetch_and_add(&c->alive, -1);
		end_thread(st, task, now, false);
		return;
	}
	if (state & TASK_STOPPED_OR_TRACED)
		st->how |= TS_STOPPED;
	if (BPF_CORE_READ_BITFIELD(task, in_iowait))
		st->how |= TS_IOWAIT;
	about_to_block(st, task, now);
	st->one_place = blocks_in_one_place(st, state);
	st->stack_taken = *short_waits(st) < TS_SHORT && !st->exiting;
	if (st->stack_taken)
		st->stack_taken = take_own_stack(TS_IN_SWITCH, TS_OF_WAIT, now);
}

/* Who ran here since the thread became ready, the latest first. A global function: the verifier goes through it once. */
__attribute__((noinline)) int tell_queue(struct ts_thread *st, struct ts_history *h, u64 ready, u64 now)
{
	struct ts_queue *q;
	u64 until = now;
	u32 i;

	if (!st || !h)
		return 0;
	q = RESERVE(struct ts_queue, TS_QUEUE);
	if (!q)
		return 0;
	head(&q->head, TS_QUEUE, st->id, now);
	q->t_ready = ready;
	/* Without branches that depend on what is found: the verifier follows each of them. */
#pragma unroll
	for (i = 0; i < TS_OCCUPANTS; i++) {
		struct ts_ran *r = &h->ran[(h->position - i) & (TS_HISTORY - 1)];
		u64 from = r->since > ready ? r->since : ready;
		u64 ns = until > from ? until - from : 0;

		q->who[i].tid = r->tid;
		q->who[i].ns = ns > 0xffffffff ? 0xffffffff : ns;
		__builtin_memcpy(q->who[i].name, r->name, 16);
		until = r->since;
	}
	bpf_ringbuf_submit(q, BPF_RB_NO_WAKEUP);
	return 0;
}

static __always_inline void fill_turn(struct ts_turn *e, struct ts_thread *st, struct ts_identity *id,
				      u8 kind, u64 wake, u64 now)
{
	head(&e->head, kind, st->id, now);
	e->t_run = st->t_run;
	e->t_out = st->t_out;
	e->t_wake = wake;
	e->key = id->key;
	e->device = id->device;
	e->waker = wake ? st->waker : 0;
	e->tracer_ns = st->run_tracer_ns;
	e->occupant = 0;
	e->occupant_ns = 0;
	e->call = st->call;
	e->how = st->how | (st->compat ? TS_COMPAT_CALL : 0);
	e->wake = wake ? st->wake : TS_WAKE_NONE;
	e->object_kind = id->kind;
	e->waker_sends = wake ? st->waker_sends : 0;
	e->futex_operation = st->futex_operation;
	e->futex_contended = st->futex_contended;
	e->dispatched = st->dispatched;
	e->polled = st->polled;
	e->taken = tell_taken(st);
}

/* What the thread has been waiting for, from the call it is in. */
static __always_inline void find_object(struct ts_thread *st, struct task_struct *task, struct ts_identity *id)
{
	if (TS_C_FD(st->word) || st->polled) {
		if (identify(task, st->about, id))
			make_known(st, id, false);
	} else if (st->word & TS_C_FUTEX) {
		id->key = st->about;
		id->device = 0;
		id->kind = TS_O_FUTEX;
	} else if (st->call < 0 && st->fault_key) {
		id->key = st->fault_key;
		id->device = st->fault_device;
		id->kind = TS_O_FILE;
	}
}

static __always_inline void long_wait(struct ts_thread *st, struct task_struct *task, struct ts_identity *id,
				      struct ts_turn **turn, u64 wake, u64 now)
{
	struct pt_regs *regs = registers_of(st, task);
	struct ts_wait *e = RESERVE(struct ts_wait, TS_WAIT);
	bool recalled = false;
	long bytes;

	if (!e)
		return;
	fill_turn(&e->turn, st, id, TS_WAIT, wake, now);
	e->args[0] = regs->di;
	e->args[1] = regs->si;
	e->args[2] = regs->dx;
	e->args[3] = regs->r10;
	e->args[4] = regs->r8;
	e->args[5] = regs->r9;
	e->asked_ns = TS_C_TIME(st->word) || (st->word & TS_C_FUTEX) ? st->asked_ns : ~0ULL;
	e->owner = st->word & TS_C_FUTEX ? st->owner : 0;
	if (!st->stack_taken) {
		recalled = recall_wait_stack(st, task);
		if (!recalled)
			st->stack_owed = st->t_out;
	}
	bytes = st->stack_taken && !recalled ? 0 : bpf_get_task_stack(task, e->frame, sizeof(e->frame), 0);
	e->frames = bytes > 0 ? (u32)bytes / 8 : 0;
	__builtin_memcpy(e->waker_name, st->waker_name, 16);
	*turn = &e->turn;
	st->long_wait = st->t_out;
}

/* Who ran here until now, since the thread became ready. */
static __always_inline void tell_occupant(struct ts_turn *e, struct ts_history *h, u64 ready, u64 now)
{
	struct ts_ran *last = &h->ran[h->position & (TS_HISTORY - 1)];
	u64 from = last->since > ready ? last->since : ready;

	if (!last->tid)
		return;
	e->occupant = last->tid;
	e->occupant_ns = now - from > 0xffffffff ? 0xffffffff : now - from;
}

/* Apart from the program that calls it, so that its variables are not on the stack while the stack of who leaves is taken. */
static __noinline int switch_in(struct ts_thread *st, struct task_struct *task, struct ts_history *h,
				struct ts_gathered *g, u64 now)
{
	struct ts_identity *id = &h->id;
	struct ts_turn *e = NULL;
	u64 wake = 0, ready;

	if (st->state == TS_CPU || st->dead || !st->state)
		return 0;
	if (now < st->t_out)
		now = st->t_out;
	__builtin_memset(id, 0, sizeof(*id));
	if (st->state == TS_BLOCKED) {
		wake = queued_at(st, task, h, now);
		st->wait_ns += wake - st->t_out;
		find_object(st, task, id);
	} else if (st->how & TS_FIRST) {
		/* A child is made first and queued a moment later; until then it is its parent's work. */
		wake = queued_at(st, task, h, now);
		st->wait_ns += wake - st->t_out;
	}
	ready = wake ? wake : st->t_out;
	st->dispatched = was_dispatched(st, task, h);
	st->switching_ns = 0;
	if (st->dispatched) {
		st->switching_ns = now - ready;
		st->cpu_ns += st->switching_ns;
	} else {
		/* The kernel's moment of choice, as at the other end of a run. */
		u64 chosen = h->clock + h->least;

		if (chosen < now && chosen > ready)
			now = chosen;
		st->ready_ns += now - ready;
		if (!wake)
			st->delay_base -= not_counted(st, task, h, now - ready);
	}
	if (st->state == TS_BLOCKED) {
		bool is_long = wake - st->t_out >= config.threshold_ns;

		note_length(short_waits(st), is_long);
		if (is_long)
			long_wait(st, task, id, &e, wake, now);
	} else if (st->how & TS_PREEMPTED) {
		note_length(&st->short_delays, now - ready >= config.threshold_ns);
	}
	if (e) {
		tell_occupant(e, h, ready, now);
		bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	} else {
		e = place_for_turn(g, now);
		fill_turn(e, st, id, TS_TURN, wake, now);
		tell_occupant(e, h, ready, now);
	}
	if (now - ready >= config.threshold_ns)
		tell_queue(st, h, ready, now);
	st->state = TS_CPU;
	st->t_run = now;
	st->taken_before = taken_here(h);
	st->run_tracer_ns = 0;
	st->fault_key = 0;
	/* If we are not told of the next wake-up, this one is not taken for it. */
	st->wake = TS_WAKE_NONE;
	return 0;
}

/*
 * The switch to a thread that leaves now, made up for. There are kernels that do not tell of switches
 * from some threads (seen: those of a sandbox's first process). When the thread arrived the kernel has
 * noted, and its own sum says how long it has run since: the rest was taken. Rare, and apart so that the
 * other stays small.
 */
static __noinline void untold(struct ts_thread *st, struct task_struct *task, struct ts_history *h,
			      struct ts_gathered *g, u64 now)
{
	u64 ran = task->se.sum_exec_runtime - st->exec_at_out;
	u64 from = now - st->t_out > ran ? now - ran : st->t_out;

	if (has_queue_time()) {
		u64 arrived = task->sched_info.last_arrival + h->least;

		if (arrived >= st->t_out && arrived < from)
			from = arrived;
	}
	switch_in(st, task, h, g, from);
	if (st->taken_before && now - st->t_run > ran)
		st->taken_before -= now - st->t_run - ran;
}

/* The follow probe's: a thread that it met and could not track then. */
static __noinline int track_met(struct task_struct *task);

SEC("tp_btf/sched_switch")
int on_switch(u64 *ctx)
{
	bool preempted = ctx[0];
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	struct ts_thread *from, *to;
	struct ts_history *h;
	struct ts_gathered *g = gathered_here();
	struct ts_ran *r;
	u32 zero = 0, state;
	u64 now;
	struct ts_control *c = get_control();

	if (!c || c->stopped)
		return 0;
	h = bpf_map_lookup_elem(&history, &zero);
	if (!h || !g)
		return 0;
	g->busy = 1;
	if (c->met && next->pid)
		track_met(next);
	state = config.switch_has_state ? (u32)ctx[3] : prev->__state;
	read_clocks(h, next);
	now = time_of_switch(h, next);
	from = prev->pid ? thread_of(prev) : NULL;
	if (from && (from->dead || !from->state))
		from = NULL;
	if (from) {
		u64 left = now - behind_scheduler(h, prev, now);

		if (from->state != TS_CPU)
			untold(from, prev, h, g, left);
		if (c->tasks)
			note_task_of(from, c, left);
		if (c->tags)
			note_tag_of(from, c, left);
		switch_out(from, prev, h, left, state, preempted);
	}
	to = next->pid ? thread_of(next) : NULL;
	if (to) {
		g->switches++;
		switch_in(to, next, h, g, now);
	}
	/* One switch can add two. */
	if (g->event.count >= TS_GATHER - 1 || (g->event.count && now - g->since > TS_GATHERED_LONG))
		hand_over(g);
	g->busy = 0;
	h->position++;
	r = &h->ran[h->position & (TS_HISTORY - 1)];
	r->since = now;
	r->tid = next->pid;
	read_name(r->name, next);
	/* Asked of the pointer itself: clang keeps the answer of above in 32 bits of the stack, which the verifier of 5.15 forgets. */
	barrier_var(to);
	if (to) {
		/* What this program takes is measured now and then and taken as that. */
		if (h->measured)
			h->cost = bpf_ktime_get_ns() - now;
		to->run_tracer_ns = h->cost;
	}
	return 0;
}
