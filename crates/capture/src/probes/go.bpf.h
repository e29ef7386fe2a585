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

/*
 * The goroutine that code is in, and its number; that of the scheduler is in the one that it has not left yet, if any. What a
 * register of C holds may be followed as far as a number, too, so a goroutine is one only if its thread knows it.
 */
static __always_inline u64 goroutine_of(struct ts_go *go, u64 goroutine, u64 *number)
{
	u64 thread, current;

	if (!read_goroutine(&thread, sizeof(thread), goroutine + TS_GO_THREAD))
		return 0;
	current = user_word(thread + go->current);
	if (current == goroutine) {
		*number = user_word(goroutine + go->number);
		return goroutine;
	}
	/* The first word of a thread is the goroutine that its scheduler runs as. */
	if (user_word(thread) != goroutine)
		return 0;
	*number = current ? user_word(current + go->number) : 0;
	return current ? current : goroutine;
}

/* How Go numbers the states of its goroutines, with a bit for those whose stacks are looked through just then. */
#define TS_GO_READY 1
#define TS_GO_RUNNING 2
#define TS_GO_WAITING 4
#define TS_GO_DEAD 6
#define TS_GO_STATE 0xfff

/* How the goroutine is now that the thread was at work for before, and where it was left. */
static __always_inline void tell_left(struct ts_task *e, struct ts_go *go, struct ts_thread *st)
{
	u64 own[9] = {}, frame[2], bp;
	u32 i;

	e->left_state = 0;
	for (i = 0; i < TS_LEFT_FRAMES; i++)
		e->left[i] = 0;
	if (!st->task_seen || !st->task || !read_goroutine(own, sizeof(own), st->task_at))
		return;
	/* Go makes a new one of one that has ended. */
	if (user_word(st->task_at + go->number) != st->task) {
		e->left_state = TS_GO_DEAD;
		return;
	}
	e->left_state = user_word(st->task_at + go->number - 8) & TS_GO_STATE;
	if (e->left_state == TS_GO_DEAD)
		return;
	e->left[0] = own[TS_GO_LEFT / 8 + 1];
	/* One that runs again has other frames by now. */
	if (e->left_state != TS_GO_WAITING && e->left_state != TS_GO_READY)
		return;
	bp = user_word(st->task_at + go->left_bp);
	for (i = 1; i < TS_LEFT_FRAMES; i++) {
		if (bp < own[0] || bp >= own[1] || (bp & 7) || bpf_probe_read_user(frame, sizeof(frame), (void *)bp))
			return;
		e->left[i] = frame[1];
		if (frame[0] <= bp)
			return;
		bp = frame[0];
	}
}

/*
 * Notes which task the current thread is at work for, as registers tell that it has at `now` and has had since `since`; tells of
 * it where that is another than before. A global function: the verifier looks at it once.
 */
__attribute__((noinline)) int note_goroutine(struct ts_thread *st, u64 goroutine, u64 since, u64 now)
{
	u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct ts_go *go = bpf_map_lookup_elem(&gos, &pid);
	u64 number = 0, at;
	struct ts_task *e;

	if (!st || !go)
		return 0;
	if (go->tokio)
		return note_tokio(st, go->tokio, go->tagged, since, now);
	at = goroutine_of(go, goroutine, &number);
	if (!at)
		return 0;
	if (number == st->task && st->task_seen) {
		st->task_seen = now;
		return 0;
	}
	e = RESERVE(struct ts_task, TS_TASK);
	if (!e)
		return 0;
	begin_task(e, st, TS_OF_GO, pid, number, since);
	e->name[0] = 0;
	tell_left(e, go, st);
	if (number) {
		if (go->parent)
			e->parent = user_word(at + go->parent);
		e->started_at = user_word(at + go->started_at);
		e->entry = user_word(at + go->entry);
	}
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	st->task = number;
	st->task_at = at;
	st->task_seen = now;
	return 0;
}

#endif
