/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/*
 * Taking stacks. The kernel's side is a list of addresses; of the user's side the memory is copied
 * and unwound in user space, because most programs are built without frame pointers. A stack whose
 * registers were seen before is very probably the same one and is not copied again, except now and then.
 */
#ifndef TIMESINK_STACKS_H
#define TIMESINK_STACKS_H

/* One for each context that may interrupt another: switches and wake-ups, calls, the sampler. */
enum ts_scratch {
	TS_IN_SWITCH,
	TS_IN_CALL,
	TS_IN_SAMPLE,
};
#define TS_CONTEXTS 3
/* For each processor one for each context. An element of a map by processor can only hold 32 KiB. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TS_CONTEXTS); /* times the processors: set before loading */
	__type(key, u32);
	__type(value, struct ts_stack);
} stack_scratch SEC(".maps");

static __always_inline struct ts_stack *scratch_of(u32 where)
{
	u32 key = bpf_get_smp_processor_id() * TS_CONTEXTS + where;

	return bpf_map_lookup_elem(&stack_scratch, &key);
}

#define TS_PAGE 4096
#define TS_LARGEST (64 << 20) /* a stack; what is farther away is the end of another */
#define TS_UNKNOWN 28672 /* so much is copied where it is not known how much there is */
#define TS_RECHECK 64 /* every so many repetitions are copied all the same */
#define TS_HEADER __builtin_offsetof(struct ts_stack, copy)

/*
 * Copy the stack, page by page: a big array that was never touched leaves pages out that are not there,
 * with callers beyond them. The first thread's stack ends where the kernel began it, that of others where glibc
 * puts what it knows of a thread. A global function, so that the verifier looks at it once.
 */
__attribute__((noinline)) u32 copy_stack(u32 where, u64 end)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ts_stack *s = scratch_of(where);
	u32 at, length = 0, i;
	u64 need, absent;

	if (!s)
		return 0;
	need = end - s->sp;
	at = TS_PAGE - (s->sp & (TS_PAGE - 1));
	if (need > TS_LARGEST)
		need = BPF_CORE_READ(task, thread.fsbase) - s->sp;
	if (need > TS_LARGEST)
		need = TS_UNKNOWN;
	if (need > TS_COPY)
		need = TS_COPY;
	if (at <= TS_PAGE && !bpf_probe_read_user(s->copy, at, (void *)s->sp))
		length = at;
	for (i = 1; i < TS_COPY / TS_PAGE; i++) {
		if (at >= need || at > TS_COPY - TS_PAGE)
			break;
		/* All bits if it is not there. Not a branch: the verifier would follow each combination of pages. */
		absent = bpf_probe_read_user(s->copy + at, TS_PAGE, (void *)s->sp + at) >> 63;
		barrier_var(absent);
		at += TS_PAGE;
		length = (length & absent) | (at & ~absent);
	}
	/* The words at the very end tell that this is it. */
	need += 16;
	return length < need ? length : need;
}

static __always_inline u64 mark_of(struct ts_stack *s)
{
	return (s->ip * 0x9e3779b97f4a7c15) ^ (s->sp << 7) ^ s->bp;
}

#define TS_WAYS 4 /* places that a stack may be remembered in */

/* Where a stack is remembered, or is to be: in the place that was least lately filled. */
static __always_inline u64 *slot_of(struct ts_thread *st, u64 mark, u8 what)
{
	u32 set = (mark >> 40) * TS_WAYS, i;

	if (what == TS_OF_SAMPLE)
		set = TS_WAIT_STACKS + (set & (TS_SAMPLE_STACKS - 1));
	else
		set &= TS_WAIT_STACKS - 1;
	barrier_var(set);
	if (set > TS_WAIT_STACKS + TS_SAMPLE_STACKS - TS_WAYS)
		return &st->stacks[0];
#pragma unroll
	for (i = 0; i < TS_WAYS; i++)
		if (st->stacks[set + i] == mark)
			return &st->stacks[set + i];
	/* The others move up. */
#pragma unroll
	for (i = TS_WAYS - 1; i > 0; i--)
		st->stacks[set + i] = st->stacks[set + i - 1];
	return &st->stacks[set];
}

/* Whether these registers were seen lately; if not, they are now. */
static __always_inline bool seen_before(struct ts_thread *st, struct ts_stack *s, u64 **slot)
{
	u64 mark = mark_of(s) ^ s->python;

	*slot = slot_of(st, mark, s->what);
	if (**slot == mark && (++st->stack_hits & (TS_RECHECK - 1)))
		return true;
	**slot = mark;
	return false;
}

/*
 * Take a thread's stack, in its own context; the kernel's addresses are there already.
 */
static __noinline bool send_stack(u32 where, struct ts_thread *st, struct ts_stack *s, struct mm_struct *mm)
{
	u64 size = TS_HEADER, *slot = NULL;
	bool lost;
	u32 length;

	s->length = 0;
	s->python = 0;
	s->repeated = 0;
	if (s->ip && mm) {
		look_into(st, s, where);
		if (seen_before(st, s, &slot))
			s->repeated = 1;
		else
			s->length = copy_stack(where, mm->start_stack);
	}
	length = s->length;
	if (length > TS_COPY)
		return false;
	size += length;
	lost = s->python && !s->repeated && tell_side(where, s->pid, st->id, s->head.t, s->what);
	if (lost || !has_room(TS_STACK) || bpf_ringbuf_output(&ring, s, size, BPF_RB_NO_WAKEUP)) {
		count_lost(TS_STACK, 1);
		if (slot && !s->repeated)
			*slot = 0;
		return false;
	}
	return true;
}

/* Where to put a stack of this thread that is about the wait, or the sample, of another (or itself). */
static __always_inline struct ts_stack *new_stack(u32 where, struct ts_thread *st, struct task_struct *task,
						  u8 what, u32 about, u64 t)
{
	struct ts_stack *s = scratch_of(where);

	if (!s)
		return NULL;
	head(&s->head, TS_STACK, st->id, t);
	s->about = about;
	s->pid = task->tgid;
	s->what = what;
	s->user = BPF_CORE_READ_BITFIELD(task, in_execve) ? TS_EXECUTING : 0;
	s->frames = 0;
	s->ip = 0;
	return s;
}

static __always_inline void user_registers(struct ts_stack *s, struct pt_regs *regs)
{
	s->ip = regs->ip;
	s->sp = regs->sp;
	s->bp = regs->bp;
	s->di = regs->di;
	s->bx = regs->bx;
}

/* The stack of a thread that waits, or has just waited, in its own context. */
static __always_inline bool take_wait_stack(u32 where, struct ts_thread *st, struct task_struct *task, u64 t_out)
{
	struct mm_struct *mm = plain(task)->mm;
	struct pt_regs *regs = registers_of(st, task);
	struct ts_stack *s;

	s = new_stack(where, st, task, TS_OF_WAIT, st->id, t_out);
	if (!s)
		return false;
	if (mm && !st->compat)
		user_registers(s, regs);
	/* Here it costs nobody anything: the thread is about to wait, and when it is woken it is in a hurry. */
	if (where == TS_IN_SWITCH) {
		long bytes = bpf_get_task_stack(task, s->frame, sizeof(s->frame), 0);

		s->frames = bytes > 0 ? (u32)bytes / 8 : 0;
	}
	return send_stack(where, st, s, mm);
}

/*
 * The stack of a wait that was not expected to be long, as it ends. Its memory is out of reach then; but
 * when the same registers were seen before, as in the waits of one call, no copy is needed.
 */
static __always_inline bool recall_wait_stack(struct ts_thread *st, struct task_struct *task)
{
	struct pt_regs *regs = registers_of(st, task);
	struct ts_stack *s = new_stack(TS_IN_SWITCH, st, task, TS_OF_WAIT, st->id, st->t_out);
	u64 mark, *slot;

	if (!s)
		return false;
	/* Where its Python frames are now, or where it is in its script, is not known. */
	if (bpf_map_lookup_elem(&pythons, &s->pid) || bpf_map_lookup_elem(&bashes, &s->pid))
		return false;
	user_registers(s, regs);
	s->python = 0;
	mark = mark_of(s);
	slot = slot_of(st, mark, TS_OF_WAIT);
	if (*slot != mark) {
		*slot = 0;
		return false;
	}
	s->repeated = 1;
	s->length = 0;
	if (!has_room(TS_STACK) || bpf_ringbuf_output(&ring, s, TS_HEADER, BPF_RB_NO_WAKEUP)) {
		count_lost(TS_STACK, 1);
		return false;
	}
	st->stack_taken = 1;
	return true;
}

/*
 * The user's memory is within reach only while the thread runs, and as it blocks nobody knows for how
 * long. So the past decides: a call that was short some times in a row is expected to be short again. What was
 * expected wrongly is made up for as the call returns, if calls are being timed.
 */
#define TS_SHORT 4

static __always_inline u8 *short_waits(struct ts_thread *st)
{
	return &st->short_waits[(u16)st->call & 15];
}

#endif
