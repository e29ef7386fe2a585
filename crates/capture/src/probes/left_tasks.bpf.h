/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/*
 * The tasks that a thread of asyncio has left: they are looked at again while the thread is in its loop. A task that goes on without
 * any call, and awaits something else then, is seen by that alone: what it awaited first would count for all of the time until it is
 * seen at work. Only tasks that were seen at work once are known here, and uvloop's and Trio's are not.
 *
 * Nothing that is read is trusted: what is looked at must say itself that it is still that task, by its coroutine and its number.
 */
#ifndef TIMESINK_LEFT_TASKS_H
#define TIMESINK_LEFT_TASKS_H

#define TS_LOOPS 32 /* threads whose tasks are looked at, each in the one place that its number leads to */
#define TS_LEFT_TASKS 1024 /* of each; two that meet are not both looked at */
#define TS_AGAIN_NS 50000 /* one look costs a microsecond or two: so often on average */
#define TS_AGAIN_KEPT 128 /* looks that were not taken are kept for later, this many */
#define TS_AGAIN 16 /* at a time */
#define TS_LOOP_IDLE_NS 1000000000

struct ts_left_task {
	u64 number;
	u64 task;
	u64 coroutine;
	u64 mark; /* of where it was when it was told of */
	u32 thread; /* that has it in its list; 0: none */
	u32 pad;
};
struct ts_left_loop {
	u64 looked; /* until when looks have been taken */
	u32 thread;
	u32 count;
	u32 next; /* to look at, in the list */
	u32 pad;
	u16 list[TS_LEFT_TASKS]; /* which of the places are taken */
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TS_LOOPS);
	__type(key, u32);
	__type(value, struct ts_left_loop);
} left_loops SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TS_LOOPS * TS_LEFT_TASKS);
	__type(key, u32);
	__type(value, struct ts_left_task);
} left_tasks SEC(".maps");

static __always_inline u64 awaiting_word(struct ts_coroutine_work *s, u32 offset)
{
	u32 word = offset / 8;

	barrier_var(word);
	word &= TS_AWAITING_WORDS - 1;
	return s->awaiting[word];
}

/* Where a coroutine is goes into the mark. What it awaits; 0: nothing, or no coroutine awaits there. */
__attribute__((noinline)) u64 mark_awaiting(u32 where, u32 pid, u64 coroutine)
{
	struct ts_coroutine_work *s = bpf_map_lookup_elem(&coroutine_scratch, &where);
	struct ts_python *p = bpf_map_lookup_elem(&pythons, &pid);
	u64 frame, top;
	signed char state;
	s32 used;

	if (!s || !p || bpf_probe_read_user(s->awaiting, TS_AWAITING_READ, (void *)coroutine))
		return 0;
	if (s->awaiting[1] != p->coroutine_type)
		return 0;
	state = awaiting_word(s, p->generator_state) >> (p->generator_state % 8 * 8);
	if (state >= 0)
		return 0;
	frame = p->generator_frame;
	s->mark = mixed(mixed(s->mark, coroutine), awaiting_word(s, frame + p->frame_at));
	top = awaiting_word(s, frame + p->frame_stack);
	if (!p->stack_pointer) {
		used = (s32)(top >> ((frame + p->frame_stack) % 8 * 8));
		top = coroutine + frame + p->frame_locals + 8 * (u64)(used > 0 ? used : 0);
	}
	return user_word(top - 8) & ~7ULL;
}

/* A mark of where a task's coroutine is, and all that it awaits; 0: it does not wait. */
__attribute__((noinline)) u64 mark_left(u32 where, u32 pid, u64 coroutine)
{
	struct ts_coroutine_work *s = bpf_map_lookup_elem(&coroutine_scratch, &where);
	u32 i;

	if (!s)
		return 0;
	s->mark = 0;
	for (i = 0; i < TS_AWAITING_DEPTH && coroutine; i++)
		coroutine = mark_awaiting(where, pid, coroutine);
	return s->mark;
}

/* The place of a thread's loop; it gets one if nobody has used that for a while. */
static __always_inline struct ts_left_loop *left_loop(struct ts_thread *st, u64 now, u32 *at)
{
	struct ts_left_loop *loop;

	*at = st->id & (TS_LOOPS - 1);
	loop = bpf_map_lookup_elem(&left_loops, at);
	if (!loop || loop->thread == st->id)
		return loop;
	if (loop->thread && loop->looked + TS_LOOP_IDLE_NS > now)
		return 0;
	loop->thread = st->id;
	loop->count = 0;
	loop->next = 0;
	loop->looked = now;
	return loop;
}

static __always_inline struct ts_left_task *left_task(u32 loop, u32 place)
{
	u32 key = loop * TS_LEFT_TASKS + (place & (TS_LEFT_TASKS - 1));

	return bpf_map_lookup_elem(&left_tasks, &key);
}

/* The task that the thread has been seen at work for is left: it will be looked at again. */
__attribute__((noinline)) int watch_left(struct ts_thread *st, u32 where, u64 now)
{
	u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct ts_left_loop *loop;
	struct ts_left_task *left;
	u32 at, place, count;
	u64 mark;

	if (!st || where == TS_IN_SAMPLE || !st->task_seen || !st->task || !st->task_object)
		return 0;
	loop = left_loop(st, now, &at);
	mark = loop ? mark_left(where, pid, st->task_at) : 0;
	if (!loop || !mark)
		return 0;
	place = (st->task & TS_OWN_NUMBER ? mixed(st->task, 1) >> 40 : st->task) & (TS_LEFT_TASKS - 1);
	left = left_task(at, place);
	if (!left)
		return 0;
	/* What another thread left behind there is in no list of this one's. */
	if (left->thread != st->id) {
		count = loop->count;
		if (count >= TS_LEFT_TASKS)
			return 0;
		barrier_var(count);
		count &= TS_LEFT_TASKS - 1;
		loop->list[count] = place;
		loop->count = count + 1;
	}
	left->thread = st->id;
	left->number = st->task;
	left->task = st->task_object;
	left->coroutine = st->task_at;
	left->mark = mark;
	return 0;
}

/*
 * Looks at the next of the tasks that a thread left, which is in its loop. If that has been at work since, it is told as a moment's
 * work now, with how it is left. What has ended is looked at no more. `round`: so many were looked at now. Whether there is time for
 * more: as much as was saved since the last time. Not for the sampler, which may have interrupted this.
 */
__attribute__((noinline)) int look_at_next_left(struct ts_thread *st, u32 where, u64 now, u32 round)
{
	u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct ts_coroutine_work *s = bpf_map_lookup_elem(&coroutine_scratch, &where);
	struct ts_python *p = bpf_map_lookup_elem(&pythons, &pid);
	struct ts_left_loop *loop;
	struct ts_left_task *left;
	u32 at, next, last;
	u64 mark = 0;

	if (!st || !s || !p || st->task)
		return 0;
	loop = left_loop(st, now, &at);
	if (!loop || round >= loop->count)
		return 0;
	if (loop->looked + TS_AGAIN_NS * TS_AGAIN_KEPT < now)
		loop->looked = now - TS_AGAIN_NS * TS_AGAIN_KEPT;
	if (loop->looked + TS_AGAIN_NS > now)
		return 0;
	loop->looked += TS_AGAIN_NS;
	next = loop->next < loop->count ? loop->next : 0;
	loop->next = next + 1;
	next &= TS_LEFT_TASKS - 1;
	left = left_task(at, loop->list[next]);
	if (!left)
		return 0;
	if (is_task(where, left->task, left->coroutine) && number_by_name(where, pid) == left->number)
		mark = mark_left(where, pid, left->coroutine);
	if (mark == left->mark)
		return 1;
	left->mark = mark;
	s->e.name[0] = 0;
	begin_task(&s->e, st, TS_OF_PYTHON, pid, left->number, now);
	tell_left_coroutines(s, where, pid, 0);
	if (!has_room(TS_TASK) || bpf_ringbuf_output(&ring, &s->e, sizeof(s->e), BPF_RB_NO_WAKEUP)) {
		count_lost(TS_TASK, 1);
		return 0;
	}
	begin_task(&s->e, st, TS_OF_PYTHON, pid, 0, now);
	tell_left_coroutines(s, where, pid, left->coroutine);
	if (!mark)
		s->e.left_state = TS_GO_DEAD;
	if (!has_room(TS_TASK) || bpf_ringbuf_output(&ring, &s->e, sizeof(s->e), BPF_RB_NO_WAKEUP)) {
		count_lost(TS_TASK, 1);
		st->task = left->number;
		st->task_at = left->coroutine;
		st->task_object = left->task;
	}
	if (!mark) {
		left->thread = 0;
		last = (loop->count - 1) & (TS_LEFT_TASKS - 1);
		loop->list[next] = loop->list[last];
		loop->count = last;
		loop->next = next;
	}
	return 1;
}

#endif
