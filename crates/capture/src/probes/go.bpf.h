/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/*
 * Go's goroutines. Its code keeps the goroutine that it is in in a register, r14; the scheduler and the collector run as a
 * goroutine of the thread's own, its first one, which has the number 0 and a stack that C made.
 *
 * Nothing that is read is trusted: it is Go's only if the stack pointer lies in the stack that the goroutine says that it has.
 */
#ifndef TIMESINK_GO_H
#define TIMESINK_GO_H

/* As Go lays out its goroutines and threads since 1.13. */
#define TS_GO_THREAD 48 /* of a goroutine: its thread */
#define TS_GO_LEFT 56 /* of a goroutine: sp and ip when it was left */
#define TS_GO_CURRENT 0xb8 /* of a thread: its current goroutine; before 1.25 one word later */
#define TS_GO_OUTERMOST 512 /* more than lies between where a thread's stack is thought to end and who called there */

/* A goroutine's own words; false for what is none. */
static __always_inline bool read_goroutine(u64 *to, u32 size, u64 goroutine)
{
	return goroutine > TS_PAGE && !(goroutine & 7) && !bpf_probe_read_user(to, size, (void *)goroutine);
}

/*
 * Whether this is Go on the stack that a thread has for the scheduler and the collector, and which goroutine called for
 * that, if any: its own stack has the callers. Tells where the stack ends, which is else known of the first thread only.
 */
__attribute__((noinline)) u64 look_into_go(u32 where, u64 end)
{
	struct ts_stack *s = scratch_of(where);
	u64 own[7] = {}, left[9] = {}, current[2] = {}, first = 0, lo, hi;
	u32 i;

	if (!s)
		return end;
	s->left_ip = 0;
	s->left_sp = 0;
	if (!read_goroutine(own, sizeof(own), s->r14))
		return end;
	lo = own[0];
	hi = own[1];
	if (s->sp < lo || s->sp >= hi || hi - lo > 1 << 30 || (hi & 7))
		return end;
	/* Its thread's first goroutine is the one that has that other stack, whose end C knows and Go guesses. */
	if (bpf_probe_read_user(&first, 8, (void *)own[TS_GO_THREAD / 8]) || first != s->r14)
		return hi;
	hi += TS_GO_OUTERMOST;
	if (bpf_probe_read_user(current, sizeof(current), (void *)own[TS_GO_THREAD / 8] + TS_GO_CURRENT))
		return hi;
	for (i = 0; i < 2; i++) {
		if (!read_goroutine(left, sizeof(left), current[i]) || left[TS_GO_THREAD / 8] != own[TS_GO_THREAD / 8])
			continue;
		if (left[TS_GO_LEFT / 8] < left[0] || left[TS_GO_LEFT / 8] >= left[1])
			continue;
		s->left_sp = left[TS_GO_LEFT / 8];
		s->left_ip = left[TS_GO_LEFT / 8 + 1];
		/* So much of it there is. */
		s->beyond_length = left[1] - s->left_sp < TS_COPY ? left[1] - s->left_sp : TS_COPY;
		return hi;
	}
	if (!current[0] || !current[1])
		s->user |= TS_NO_GOROUTINE;
	return hi;
}

/* Which processes are Go, or have tokio, and where these keep what. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, struct ts_go);
} gos SEC(".maps");

/* So many words of a goroutine are read at once: up to its number and its state, and up to its labels. */
#define TS_GO_LEFT_READ (21 * 8)
#define TS_GO_READ (46 * 8)
#define TS_GO_WORDS 64 /* room for them, a power of two: then the verifier believes an offset */
#define TS_GO_STACK 16384 /* so much of the stack of one that is left is looked at: parked ones seldom have 4 KiB */
#define TS_GO_STACK_WORDS (TS_GO_STACK / 8)

/* What is known of a goroutine; a read takes 70 ns whatever its size, so there are few. */
struct ts_go_work {
	u64 now[TS_GO_WORDS]; /* of the goroutine that the thread is at work for */
	u64 left[TS_GO_WORDS]; /* of the one before */
	u64 again[TS_GO_WORDS]; /* of the same, when its stack was read */
	u64 stack[TS_GO_STACK_WORDS + 1]; /* of that one, and room for where the last frame's caller would be */
	struct ts_left e;
	u32 left_state;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, TS_CONTEXTS);
	__type(key, u32);
	__type(value, struct ts_go_work);
} go_scratch SEC(".maps");

/* The places that were told of, by their marks. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, u8);
} lefts SEC(".maps");

/* The word at this offset. */
static __always_inline u64 *go_word(u64 *words, u32 offset)
{
	u64 index = offset / 8;

	barrier_var(index);
	return &words[index & (TS_GO_WORDS - 1)];
}

/*
 * The goroutine that code is in, and with it its words: that of the scheduler is in the one that it has not left yet, if any, else in
 * its own. What a register of C holds may be followed as far as a number, too, so a goroutine is one only if its thread knows it: Go's
 * thread is known once seen, and a goroutine has a thread only as long as that is at work for it.
 */
static __always_inline u64 goroutine_of(struct ts_thread *st, struct ts_go *go, struct ts_go_work *s, u64 goroutine)
{
	u64 thread, current, first;

	if (!goroutine)
		return 0;
	if (goroutine != st->go_scheduler) {
		if (!read_goroutine(s->now, TS_GO_READ, goroutine))
			return 0;
		thread = s->now[TS_GO_THREAD / 8];
		/* A thread has one more goroutine, for signals, whose number is 0 as well. */
		if (thread && thread == st->go_thread)
			return *go_word(s->now, go->number) ? goroutine : 0;
		/* The first word of a thread is the goroutine that its scheduler runs as. */
		first = user_word(thread);
		current = user_word(thread + go->current);
		if (current != goroutine && first != goroutine)
			return 0;
		st->go_thread = thread;
		st->go_scheduler = first;
		if (current == goroutine)
			return goroutine;
	}
	current = user_word(st->go_thread + go->current);
	if (current && read_goroutine(s->now, TS_GO_READ, current))
		return current;
	*go_word(s->now, go->number) = 0;
	return goroutine;
}

/* How Go numbers the states of its goroutines, with a bit for those whose stacks are looked through just then. */
#define TS_GO_READY 1
#define TS_GO_RUNNING 2
#define TS_GO_WAITING 4
#define TS_GO_DEAD 6
#define TS_GO_STATE 0xfff

/*
 * Goes through the callers of the goroutine that was left, by their frame pointers, from `bp` on, in `length` bytes of its stack
 * that lie in the scratch. The mark of them; 0: there are none. A global function: the verifier looks at it once.
 */
__attribute__((noinline)) u64 walk_left(u32 where, u64 length, u64 bp)
{
	struct ts_go_work *s = bpf_map_lookup_elem(&go_scratch, &where);
	u64 mark, sp, at, place;
	u32 i;

	if (!s || length < 16)
		return 0;
	sp = s->left[TS_GO_LEFT / 8];
	s->e.place[0] = s->left[TS_GO_LEFT / 8 + 1];
	mark = mixed(s->e.pid, s->e.place[0]);
	for (i = 1; i < TS_LEFT_PLACES; i++) {
		at = (bp - sp) / 8;
		if (at >= length / 8 - 1 || bp < sp || (bp & 7))
			break;
		barrier_var(at);
		at &= TS_GO_STACK_WORDS - 1;
		place = s->stack[at + 1];
		at = s->stack[at];
		s->e.place[i] = place;
		mark = mixed(mark, place);
		if (at <= bp) {
			s->e.whole = !at;
			i++;
			break;
		}
		bp = at;
	}
	s->e.count = i;
	return s->e.whole ? mark : mixed(mark, s->left[1] - sp);
}

/* Tells of a place where a goroutine was left; false: it has moved on since, and its stack was nobody's, or there was no room. */
__attribute__((noinline)) int tell_place(struct ts_thread *st, u32 where, u64 mark, u32 number)
{
	struct ts_go_work *s = bpf_map_lookup_elem(&go_scratch, &where);
	u64 moved;
	u8 one = 1;

	if (!s || !st || !read_goroutine(s->again, TS_GO_LEFT_READ, st->task_at))
		return 0;
	moved = (s->again[0] ^ s->left[0]) | (s->again[1] ^ s->left[1]);
	moved |= s->again[TS_GO_LEFT / 8] ^ s->left[TS_GO_LEFT / 8];
	moved |= s->again[TS_GO_LEFT / 8 + 1] ^ s->left[TS_GO_LEFT / 8 + 1];
	moved |= *go_word(s->again, number) ^ *go_word(s->left, number);
	moved |= (*go_word(s->again, number - 8) ^ *go_word(s->left, number - 8)) & TS_GO_STATE;
	if (moved)
		return 0;
	head(&s->e.head, TS_LEFT, st->id, bpf_ktime_get_ns());
	s->e.mark = mark;
	if (!has_room(TS_LEFT) || bpf_ringbuf_output(&ring, &s->e, sizeof(s->e), BPF_RB_NO_WAKEUP)) {
		count_lost(TS_LEFT, 1);
		return 0;
	}
	bpf_map_update_elem(&lefts, &mark, &one, BPF_ANY);
	return 1;
}

/*
 * How the goroutine is now that the thread was at work for before, into the scratch, and the mark of where it was left; 0: no more than
 * its innermost place is known, if that.
 */
__attribute__((noinline)) u64 look_at_left(struct ts_thread *st, u32 where, u32 number, u32 left_bp)
{
	struct ts_go_work *s = bpf_map_lookup_elem(&go_scratch, &where);
	u64 length, sp, mark;

	if (!s)
		return 0;
	s->left_state = 0;
	s->left[TS_GO_LEFT / 8 + 1] = 0;
	if (!st || !st->task_seen || !st->task || !read_goroutine(s->left, TS_GO_LEFT_READ, st->task_at))
		return 0;
	/* Go makes a new one of one that has ended. */
	s->left_state = *go_word(s->left, number) != st->task ? TS_GO_DEAD :
					*go_word(s->left, number - 8) & TS_GO_STATE;
	if (s->left_state == TS_GO_DEAD) {
		s->left[TS_GO_LEFT / 8 + 1] = 0;
		return 0;
	}
	/* One that runs again has other frames by now. */
	if (s->left_state != TS_GO_WAITING && s->left_state != TS_GO_READY)
		return 0;
	sp = s->left[TS_GO_LEFT / 8];
	if (sp < s->left[0] || sp >= s->left[1] || (sp & 7))
		return 0;
	length = s->left[1] - sp;
	if (length > TS_GO_STACK)
		length = TS_GO_STACK;
	if (bpf_probe_read_user(s->stack, length, (void *)sp))
		return 0;
	s->e.pid = bpf_get_current_pid_tgid() >> 32;
	s->e.whole = 0;
	mark = walk_left(where, length, *go_word(s->left, left_bp));
	if (!mark || bpf_map_lookup_elem(&lefts, &mark) || tell_place(st, where, mark, number))
		return mark;
	return 0;
}

/* Where the thread's program has its tasks; it runs the same one until it executes another. */
static __always_inline struct ts_go *go_of(struct ts_thread *st, u32 pid)
{
	struct ts_go *go;

	if (!st->go.number && !st->go.tokio) {
		go = bpf_map_lookup_elem(&gos, &pid);
		if (!go)
			return NULL;
		st->go = *go;
	}
	return &st->go;
}

/*
 * Notes which task the current thread is at work for, as registers tell that it has at `now` and has had since `since`; tells of
 * it where that is another than before. True: it is in Go's code, and in no other runtime's. A global function: the verifier looks at
 * it once.
 */
__attribute__((noinline)) int note_goroutine(struct ts_thread *st, u32 where, u64 goroutine, u64 since, u64 now)
{
	u32 pid = bpf_get_current_pid_tgid() >> 32, i;
	struct ts_go_work *s;
	u64 number, at, mark;
	struct ts_task *e;
	struct ts_go *go;

	if (!st)
		return 0;
	go = go_of(st, pid);
	if (!go)
		return 0;
	if (go->tokio)
		return note_tokio(st, go->tokio, go->tagged, since, now);
	s = bpf_map_lookup_elem(&go_scratch, &where);
	if (!s)
		return 0;
	at = goroutine_of(st, go, s, goroutine);
	if (!at)
		return 0;
	number = *go_word(s->now, go->number);
	if (number != st->task || !st->task_seen) {
		mark = look_at_left(st, where, go->number, go->left_bp);
		e = RESERVE(struct ts_task, TS_TASK);
		if (!e)
			return 1;
		begin_task(e, st, TS_OF_GO, pid, number, since);
		e->name[0] = 0;
		e->left_state = s->left_state;
		e->left[0] = s->left[TS_GO_LEFT / 8 + 1];
		e->left[1] = mark;
		for (i = 2; i < TS_LEFT_FRAMES; i++)
			e->left[i] = 0;
		if (number) {
			if (go->parent)
				e->parent = *go_word(s->now, go->parent);
			e->started_at = *go_word(s->now, go->started_at);
			e->entry = *go_word(s->now, go->entry);
		}
		bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
		st->task = number;
		st->task_at = at;
	}
	st->task_labels = number ? *go_word(s->now, go->labels) : 0;
	st->task_seen = now;
	return 1;
}

#endif
