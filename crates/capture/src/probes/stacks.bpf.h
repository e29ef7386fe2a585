/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/*
 * Taking stacks. The kernel's side is a list of addresses; of the user's side the memory is copied
 * and unwound in user space, because most programs are built without frame pointers. A stack whose
 * registers were seen before is very probably the same one and is not copied again, except now and then.
 */
#ifndef TIMESINK_STACKS_H
#define TIMESINK_STACKS_H

#define TS_LARGEST (64 << 20) /* a stack; what is farther away is the end of another */
#define TS_UNKNOWN 28672 /* so much is copied where it is not known how much there is */
#define TS_INNER 98304 /* so much is copied from where a thread is */
#define TS_OUTER (TS_COPY - TS_INNER) /* and so much from where its stack begins, if that is farther away */
#define TS_RECHECK 64 /* every so many repetitions are copied all the same */
#define TS_HEADER __builtin_offsetof(struct ts_stack, copy)
#define TS_SHORT_HEADER __builtin_offsetof(struct ts_stack, frame) /* of one without frames in the kernel and without a copy */

/*
 * Copy a page of the user's memory, or less, into the scratch; up to where something is there then.
 * Global functions, these: the verifier looks at each once, and forgets what is known of the result.
 */
__attribute__((noinline)) u32 copy_page(u32 where, u32 to, u64 from, u32 size, u32 length)
{
	struct ts_stack *s = scratch_of(where);

	if (!s || to > TS_COPY - TS_PAGE || size > TS_PAGE || bpf_probe_read_user(s->copy + to, size, (void *)from))
		return length;
	return to + size;
}

/*
 * Copy a stack, page by page, and tell how much of it is there then: a big array that was never touched leaves pages
 * out that are not there, with callers beyond them.
 */
__attribute__((noinline)) u32 copy_pages(u32 where, u32 to, u64 from, u64 need)
{
	u32 at = TS_PAGE - (from & (TS_PAGE - 1)), end, i;

	end = copy_page(where, to, from, at, to);
	for (i = 1; i < TS_COPY / TS_PAGE && at < need; i++) {
		end = copy_page(where, to + at, from + at, TS_PAGE, end);
		at += TS_PAGE;
	}
	return end - to < need ? end - to : need;
}

/* Where the stack of a thread ends that is about to be, if it has one of its own; else it has that of its parent. */
static __always_inline void begin_stack(struct ts_thread *st, struct task_struct *task, struct ts_thread *of,
					struct task_struct *parent)
{
	u64 sp = registers_of(st, task)->sp;

	st->stack_end = sp == registers_of(of, parent)->sp ? of->stack_end : sp;
}

/* Where the current thread's stack ends: the first one's where the kernel began it, that of others where they began. */
static __always_inline u64 end_of_stack(struct ts_thread *st, struct mm_struct *mm)
{
	return st->stack_end ? st->stack_end : mm->start_stack;
}

/*
 * The thread's stack up to where it ends, as far as there is room; and what lies beyond: of a goroutine that it has left
 * that one's stack, else the outermost part of its own. A function may have so many variables that its caller is
 * hundreds of kilobytes away (rustc's compiles a whole crate), and most that do are called near the beginning. That
 * part is also where the way goes on from a stack that the program has made for something, a signal for instance.
 */
__attribute__((noinline)) int copy_stack(u32 where, u64 end)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ts_stack *s = scratch_of(where);
	u64 need, outer;

	if (!s)
		return 0;
	need = end - s->sp;
	/* Of a thread whose beginning was not seen, glibc has put what it knows of it near the end. */
	if (need > TS_LARGEST)
		need = BPF_CORE_READ(task, thread.fsbase) - s->sp;
	if (need <= TS_LARGEST)
		end = s->sp + need;
	else
		need = TS_UNKNOWN;
	/* The words at the very end tell that this is it. */
	need += 16;
	end += 16;
	s->length = copy_pages(where, 0, s->sp, need < TS_INNER ? need : TS_INNER);
	if (s->left_sp) {
		s->beyond = s->left_sp;
		s->beyond_length = copy_pages(where, s->length, s->beyond, s->beyond_length);
	} else if (end - s->sp > need || need > TS_INNER) {
		outer = end - TS_OUTER;
		if (outer - s->sp < TS_INNER)
			outer = s->sp + TS_INNER;
		s->beyond = (outer + TS_PAGE - 1) & ~(TS_PAGE - 1ULL);
		s->beyond_length = end > s->beyond ? copy_pages(where, s->length, s->beyond, end - s->beyond) : 0;
	}
	return 0;
}

static __always_inline u64 mark_of(struct ts_stack *s)
{
	return (s->ip * 0x9e3779b97f4a7c15) ^ (s->sp << 7) ^ s->bp;
}

/*
 * The same of the task of tokio that it is at work for, 0: none. Futures are polled by the same code at the same depth of one stack:
 * registers do not tell whose functions are between.
 */
static __always_inline u64 mark_of_task(struct ts_thread *st)
{
	return polls_future(st) ? mixed(1, st->task) | 1 : 0;
}

#define TS_WAYS 4 /* places that a stack may be remembered in */

/* What is kept of a mark: half of it, into which all of its bits go. 0 is that of none. */
static __always_inline u32 kept_of(u64 mark)
{
	return (mixed(mark, 0) >> 32) | 1;
}

/* Where a stack is remembered, or is to be: in the place that was least lately filled. */
static __always_inline u32 *slot_of(struct ts_thread *st, u64 mark, u8 what)
{
	u32 set = (mark >> 40) * TS_WAYS, kept = kept_of(mark), i;

	if (what == TS_OF_SAMPLE || what == TS_OF_DELAY)
		set = TS_WAIT_STACKS + (set & (TS_SAMPLE_STACKS - 1));
	else
		set &= TS_WAIT_STACKS - 1;
	barrier_var(set);
	if (set > TS_WAIT_STACKS + TS_SAMPLE_STACKS - TS_WAYS)
		return &st->stacks[0];
#pragma unroll
	for (i = 0; i < TS_WAYS; i++)
		if (st->stacks[set + i] == kept)
			return &st->stacks[set + i];
	/* The others move up. */
#pragma unroll
	for (i = TS_WAYS - 1; i > 0; i--)
		st->stacks[set + i] = st->stacks[set + i - 1];
	return &st->stacks[set];
}

/* Whether these registers were seen lately; if not, they are now. */
static __always_inline bool seen_before(struct ts_thread *st, struct ts_stack *s, u32 **slot)
{
	u64 mark = mark_of(s) ^ s->python ^ s->java ^ s->left_sp;

	*slot = slot_of(st, mark, s->what);
	if (**slot == kept_of(mark) && (++st->stack_hits & (TS_RECHECK - 1)))
		return true;
	**slot = kept_of(mark);
	return false;
}

/*
 * Hand over the stack that was begun in the scratch, with the current thread's user side where its registers
 * are in it; 1: there was no room. A global function, so that the verifier looks at it once.
 */
__attribute__((noinline)) int send_stack(u32 where)
{
	struct ts_stack *s = scratch_of(where);
	struct task_struct *task = bpf_get_current_task_btf();
	struct ts_thread *st = thread_of(task);
	struct mm_struct *mm = plain(task)->mm;
	u64 size = TS_HEADER, end;
	u32 length, *slot = NULL;
	bool lost = false;

	if (!s)
		return 1;
	s->length = 0;
	s->beyond_length = 0;
	s->python = 0;
	s->java = 0;
	s->repeated = 0;
	if (s->ip && mm && st) {
		s->python = look_into(where, st, s);
		s->java = mark_of_java(where) ^ mark_of_task(st);
		end = look_into_go(where, end_of_stack(st, mm));
		if (seen_before(st, s, &slot)) {
			s->repeated = 1;
			s->beyond_length = 0;
		} else {
			copy_stack(where, end);
			lost = s->python && tell_side(where, st, s);
		}
	}
	length = s->length + s->beyond_length;
	if (length > TS_COPY)
		return 1;
	size += length;
	if (!length && !s->frames)
		size = TS_SHORT_HEADER;
	if (lost || !has_room(TS_STACK) || bpf_ringbuf_output(&ring, s, size, BPF_RB_NO_WAKEUP)) {
		count_lost(TS_STACK, 1);
		if (slot && !s->repeated)
			*slot = 0;
		return 1;
	}
	return 0;
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
	s->r14 = regs->r14;
	s->r15 = regs->r15;
}

/*
 * Whether a wait is in the place of the kernel that the thread's last one was in, which was told. To walk the kernel's stack takes 1 to
 * 7 us, more than all else that is done as a thread blocks, and shells and servers wait in the same call over and over.
 */
static __always_inline bool in_known_place(struct ts_thread *st, struct ts_stack *s)
{
	if (s->what != TS_OF_WAIT || !st->one_place)
		return false;
	s->user |= TS_ONE_PLACE;
	if (st->place_call == st->call && (++st->place_waits & (TS_RECHECK - 1)))
		return true;
	st->place_call = st->call;
	st->place_waits = 0;
	return false;
}

/*
 * The stack of the current thread, which is about to leave the processor (TS_OF_WAIT, TS_OF_DELAY) or has just waited.
 * Global, as send_stack().
 */
__attribute__((noinline)) int take_own_stack(u32 where, u8 what, u64 t_out)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ts_thread *st = thread_of(task);
	struct ts_stack *s;

	if (!st)
		return 0;
	s = new_stack(where, st, task, what, st->id, t_out);
	if (!s)
		return 0;
	if (plain(task)->mm && !st->compat)
		user_registers(s, registers_of(st, task));
	/*
	 * Here it costs nobody anything: the thread is about to wait, and when it is woken it is in a hurry. Who loses the processor
	 * loses it at the kernel's leisure; where that was says nothing that its program's side does not.
	 */
	if (where == TS_IN_SWITCH && !(what == TS_OF_DELAY && s->ip) && !in_known_place(st, s)) {
		long bytes = bpf_get_task_stack(task, s->frame, sizeof(s->frame), 0);

		s->frames = bytes > 0 ? (u32)bytes / 8 : 0;
	}
	if (!send_stack(where))
		return 1;
	st->place_call = 0;
	return 0;
}

/*
 * The stack of a wait that was not expected to be long, as it ends. Its memory is out of reach then; but
 * when the same registers were seen before, as in the waits of one call, no copy is needed.
 */
static __always_inline bool recall_wait_stack(struct ts_thread *st, struct task_struct *task)
{
	struct pt_regs *regs = registers_of(st, task);
	struct ts_stack *s = new_stack(TS_IN_SWITCH, st, task, TS_OF_WAIT, st->id, st->t_out);
	u32 *slot;
	u64 mark;

	if (!s)
		return false;
	/* Which frames of an interpreter it has now, or where it is in its script, is not known. */
	if (bpf_map_lookup_elem(&pythons, &s->pid) || bpf_map_lookup_elem(&javas, &s->pid) ||
	    bpf_map_lookup_elem(&bashes, &s->pid) || bpf_map_lookup_elem(&interpreters, &s->pid))
		return false;
	user_registers(s, regs);
	s->python = 0;
	s->left_ip = 0;
	s->left_sp = 0;
	s->beyond_length = 0;
	s->java = mark_of_task(st);
	mark = mark_of(s) ^ s->java;
	slot = slot_of(st, mark, TS_OF_WAIT);
	if (*slot != kept_of(mark)) {
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

/* The same is true of who loses the processor: it may have it again at once, or when others have done their work. */
static __always_inline void take_delay_stack(struct ts_thread *st, u64 t_out)
{
	if (st->short_delays < TS_SHORT && !st->exiting)
		take_own_stack(TS_IN_SWITCH, TS_OF_DELAY, t_out);
}

/* How long a wait, or a time ready, was, for the next of its kind. */
static __always_inline void note_length(u8 *in_a_row, bool is_long)
{
	if (is_long)
		*in_a_row = 0;
	else if (*in_a_row < TS_SHORT)
		*in_a_row += 1;
}

static __always_inline u8 *short_waits(struct ts_thread *st)
{
	return &st->short_waits[(u16)st->call & 15];
}

#endif
