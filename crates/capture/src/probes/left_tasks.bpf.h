/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/*
 * The tasks that a thread of asyncio has left: they are looked at again while the thread is in its loop. A task that goes on without
 * any call, and awaits something else then, is seen by that alone: what it awaited first would count for all of the time until it is
 * seen at work. Tasks that never were are looked for among the objects that follow one that was, in the list that Python's collector
 * has of all: tasks that are made together stand together there. uvloop's and Trio's are not looked at.
 *
 * Nothing that is read is trusted: what is looked at must say itself that it is still that task, by its coroutine and its number.
 */
#ifndef TIMESINK_LEFT_TASKS_H
#define TIMESINK_LEFT_TASKS_H

#define TS_LOOPS 32 /* threads whose tasks are looked at, each in the one place that its number leads to */
#define TS_LEFT_TASKS 1024 /* of each; two that meet are not both looked at */
#define TS_AGAIN_NS 60000 /* one look costs a microsecond or two: so often on average */
#define TS_AGAIN_KEPT 256 /* looks that were not taken are kept for later, this many */
#define TS_AGAIN 48 /* at a time, as the thread leaves the processor */
#define TS_AGAIN_IN_CALL 24 /* and as a call returns */
#define TS_ROUND_IN_CALL 256 /* added to the number of a round then */
#define TS_RECENT 16 /* tasks that were at work last are looked at first */
#define TS_LOOP_IDLE_NS 1000000000
#define TS_FOUND 16 /* so many tasks are found at a time */
#define TS_STEPS 128 /* objects looked at in a row for a task */
#define TS_STEP_NS 10000 /* one takes a tenth of a microsecond: so often on average */
#define TS_STEPS_KEPT 4096
#define TS_COLLECTED 16 /* an object lies behind two words of the collector's: the next object, and the one before */
#define TS_STEPS_WITHOUT 2048 /* after so many without a new task there is none to be found */

struct ts_left_task {
	u64 number; /* 0: it has ended */
	u64 task;
	u64 coroutine;
	u64 mark; /* of where it was when it was told of */
	u32 thread; /* that has the place in its list; 0: none */
	u32 searched; /* others were looked for from this one on */
	u32 recent; /* which of the times that a task was seen at work put it among the last */
	u32 pad;
};
struct ts_left_loop {
	u64 looked; /* until when looks have been taken */
	u32 thread;
	u32 count;
	u32 next; /* to look at, in the list */
	u32 left; /* so often a task was seen at work */
	u16 recent[TS_RECENT]; /* the places of the last */
	u64 object; /* to look at next in search of tasks, by its header for the collector; 0: none are looked for */
	u64 searched; /* until when the time for that is spent */
	u64 task_type;
	u32 coroutine_word;
	u32 slept; /* they were looked at as the thread left the processor */
	u32 pad;
	u32 without; /* so many objects in a row were no new tasks */
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
	loop->left = 0;
	loop->object = 0;
	loop->searched = now;
	loop->looked = now;
	return loop;
}

static __always_inline struct ts_left_task *left_task(u32 loop, u32 place)
{
	u32 key = loop * TS_LEFT_TASKS + (place & (TS_LEFT_TASKS - 1));

	return bpf_map_lookup_elem(&left_tasks, &key);
}

/* The place of a task of a thread's loop, in its list too; null: there are too many. */
static __always_inline struct ts_left_task *place_left(struct ts_left_loop *loop, u32 at, u32 thread, u64 number, u32 *place)
{
	struct ts_left_task *left;
	u32 count = loop->count;

	*place = (number & TS_OWN_NUMBER ? mixed(number, 1) >> 40 : number) & (TS_LEFT_TASKS - 1);
	left = left_task(at, *place);
	/* What another thread left behind there is in no list of this one's. */
	if (!left || left->thread == thread)
		return left;
	if (count >= TS_LEFT_TASKS)
		return 0;
	barrier_var(count);
	count &= TS_LEFT_TASKS - 1;
	loop->list[count] = *place;
	loop->count = count + 1;
	left->thread = thread;
	left->number = 0;
	left->recent = 0;
	return left;
}

/* A task has been at work: it is one of those that are looked at first, if it is not yet. */
static __always_inline void make_recent(struct ts_left_loop *loop, struct ts_left_task *left, u32 place)
{
	if (left->recent && loop->left - left->recent < TS_RECENT)
		return;
	loop->recent[loop->left++ & (TS_RECENT - 1)] = place;
	left->recent = loop->left;
}

/* The task that the thread has been seen at work for is left: it will be looked at again. Not for the sampler, which may interrupt this. */
__attribute__((noinline)) int watch_left(struct ts_thread *st, u32 where, u64 now)
{
	u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct ts_left_loop *loop;
	struct ts_left_task *left;
	u32 at, place;
	u64 mark;

	if (!st || where == TS_IN_SAMPLE || !st->task_seen || !st->task || !st->task_object)
		return 0;
	loop = left_loop(st, now, &at);
	if (!loop)
		return 0;
	mark = mark_left(where, pid, st->task_at);
	left = place_left(loop, at, st->id, st->task, &place);
	if (!left)
		return 0;
	/* It has ended, which is told as it is left. */
	if (!mark) {
		left->number = 0;
		return 0;
	}
	if (left->number != st->task)
		left->searched = 0;
	left->number = st->task;
	left->task = st->task_object;
	left->coroutine = st->task_at;
	left->mark = mark;
	make_recent(loop, left, place);
	return 0;
}

/* The first function of a task, by its coroutine. */
__attribute__((noinline)) u64 entry_of(u32 where, u32 pid, u64 coroutine)
{
	struct ts_python *p = bpf_map_lookup_elem(&pythons, &pid);

	if (!p)
		return 0;
	return told_code(where, pid, p, user_word(coroutine + p->generator_frame + p->frame_code) & ~7ULL);
}

/* Tells a task of the thread, which is in its loop, as a moment's work now, with how it is left. */
static __always_inline void tell_left_task(struct ts_thread *st, struct ts_coroutine_work *s, u32 where, u32 pid,
					   struct ts_left_task *left, u64 now)
{
	begin_task(&s->e, st, TS_OF_PYTHON, pid, left->number, now);
	tell_left_coroutines(s, where, pid, 0);
	if (left->mark)
		s->e.entry = entry_of(where, pid, left->coroutine);
	if (!has_room(TS_TASK) || bpf_ringbuf_output(&ring, &s->e, sizeof(s->e), BPF_RB_NO_WAKEUP)) {
		count_lost(TS_TASK, 1);
		return;
	}
	begin_task(&s->e, st, TS_OF_PYTHON, pid, 0, now);
	tell_left_coroutines(s, where, pid, left->coroutine);
	if (!left->mark)
		s->e.left_state = TS_GO_DEAD;
	if (!has_room(TS_TASK) || bpf_ringbuf_output(&ring, &s->e, sizeof(s->e), BPF_RB_NO_WAKEUP)) {
		count_lost(TS_TASK, 1);
		st->task = left->number;
		st->task_at = left->coroutine;
		st->task_object = left->task;
	}
}

#define TS_NO_MORE (1U << 31)
#define TS_NONE_NOW (1U << 30)

/*
 * The key of the task to be looked at in a round: those left last, then the next of all; TS_NONE_NOW: none in this round;
 * TS_NO_MORE: there is no time for any, but as much as was saved since the last look. A place where one has ended is free again.
 */
__attribute__((noinline)) u32 choose_left(struct ts_thread *st, u64 now, u32 round)
{
	struct ts_left_loop *loop;
	struct ts_left_task *left;
	u32 at, next, last, place, most = TS_AGAIN;
	bool in_call = round >= TS_ROUND_IN_CALL;

	if (in_call) {
		round -= TS_ROUND_IN_CALL;
		most = TS_AGAIN_IN_CALL;
	}
	if (!st || st->task || round >= most)
		return TS_NO_MORE;
	loop = left_loop(st, now, &at);
	if (!loop || !loop->count)
		return TS_NO_MORE;
	/* Nothing has changed from when a thread slept in a call until that returns. */
	if (!round) {
		bool slept = loop->slept;

		loop->slept = !in_call;
		if (in_call && slept)
			return TS_NO_MORE;
	}
	if (loop->looked + TS_AGAIN_NS * TS_AGAIN_KEPT < now)
		loop->looked = now - TS_AGAIN_NS * TS_AGAIN_KEPT;
	if (loop->looked + TS_AGAIN_NS > now)
		return TS_NO_MORE;
	/* So few are all looked at. */
	if (loop->count <= TS_RECENT)
		round += TS_RECENT;
	if (round < TS_RECENT) {
		if (round >= loop->left)
			return TS_NONE_NOW;
		place = loop->recent[round & (TS_RECENT - 1)];
	} else {
		if (round - TS_RECENT >= loop->count)
			return TS_NO_MORE;
		next = (loop->next < loop->count ? loop->next : 0) & (TS_LEFT_TASKS - 1);
		loop->next = next + 1;
		place = loop->list[next];
	}
	left = left_task(at, place);
	if (!left || left->thread != st->id)
		return TS_NONE_NOW;
	if (!left->number) {
		if (round < TS_RECENT)
			return TS_NONE_NOW;
		left->thread = 0;
		last = (loop->count - 1) & (TS_LEFT_TASKS - 1);
		loop->list[next & (TS_LEFT_TASKS - 1)] = loop->list[last];
		loop->count = last;
		loop->next = next;
		return TS_NONE_NOW;
	}
	loop->looked += TS_AGAIN_NS;
	return at * TS_LEFT_TASKS + (place & (TS_LEFT_TASKS - 1));
}

/* The same, of a task that was found to have been at work. */
__attribute__((noinline)) int note_recent(struct ts_thread *st, u64 now, u32 key)
{
	struct ts_left_task *left = bpf_map_lookup_elem(&left_tasks, &key);
	struct ts_left_loop *loop;
	u32 at;

	if (!st || !left)
		return 0;
	loop = left_loop(st, now, &at);
	if (loop)
		make_recent(loop, left, key & (TS_LEFT_TASKS - 1));
	return 0;
}

/* Looks for tasks that were never seen at work from this one on, whose words are in the scratch. */
__attribute__((noinline)) int begin_search(struct ts_thread *st, u32 where, u64 now, u32 key)
{
	struct ts_coroutine_work *s = bpf_map_lookup_elem(&coroutine_scratch, &where);
	struct ts_left_task *left = bpf_map_lookup_elem(&left_tasks, &key);
	struct ts_left_loop *loop;
	u32 at;

	if (!st || !s || !left || left->searched)
		return 0;
	loop = left_loop(st, now, &at);
	if (!loop || loop->object)
		return 0;
	left->searched = 1;
	loop->object = left->task - TS_COLLECTED;
	loop->task_type = s->words[1];
	loop->coroutine_word = s->coroutine_word;
	loop->without = 0;
	return 0;
}

/*
 * Looks at one of the tasks that a thread left, which is in its loop: if that has been at work since, it is told. `round`: so many were
 * looked at now. Whether there may be more to look at.
 */
__attribute__((noinline)) int look_at_next_left(struct ts_thread *st, u32 where, u64 now, u32 round)
{
	u32 pid = bpf_get_current_pid_tgid() >> 32, key = choose_left(st, now, where == TS_IN_SWITCH ? round : round + TS_ROUND_IN_CALL);
	struct ts_coroutine_work *s = bpf_map_lookup_elem(&coroutine_scratch, &where);
	struct ts_left_task *left = bpf_map_lookup_elem(&left_tasks, &key);
	u64 mark = 0;

	if (!st || !s || key == TS_NO_MORE)
		return 0;
	if (!left)
		return 1;
	s->e.name[0] = 0;
	if (is_task(where, left->task, left->coroutine) && number_by_name(where, pid) == left->number)
		mark = mark_left(where, pid, left->coroutine);
	if (mark)
		begin_search(st, where, now, key);
	if (mark != left->mark) {
		if (mark && left->mark)
			note_recent(st, now, key);
		left->mark = mark;
		tell_left_task(st, s, where, pid, left, now);
	}
	if (!mark)
		left->number = 0;
	return 1;
}

/* Whether the next object is a task: by its type, which is the second word behind the collector's two. */
static long next_object(u64 index, struct ts_coroutine_work **work)
{
	struct ts_coroutine_work *s = *work;
	u64 object = s->object;

	if (bpf_probe_read_user(s->header, 4 * sizeof(u64), (void *)object)) {
		s->object = 0;
		return 1;
	}
	s->object = s->header[0] & ~3ULL;
	s->steps++;
	s->task = s->header[3] == s->task_type ? object + TS_COLLECTED : 0;
	return s->task || !s->object;
}

/* Looks for the next task that was never seen at work, which will be looked at from now on. Whether it is worth looking on. */
__attribute__((noinline)) int find_left(struct ts_thread *st, u32 where, u64 now)
{
	u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct ts_coroutine_work *s = bpf_map_lookup_elem(&coroutine_scratch, &where);
	struct ts_left_loop *loop;
	struct ts_left_task *left;
	u64 number, coroutine;
	u32 at, place;

	if (!st || !s)
		return 0;
	loop = left_loop(st, now, &at);
	if (!loop || !loop->object || loop->searched > now)
		return 0;
	if (loop->searched + TS_STEP_NS * TS_STEPS_KEPT < now)
		loop->searched = now - TS_STEP_NS * TS_STEPS_KEPT;
	s->object = loop->object;
	s->task_type = loop->task_type;
	s->steps = 0;
	s->task = 0;
	LOOP(TS_STEPS, TS_FEW_STEPS, next_object, &s);
	loop->searched += (u64)s->steps * TS_STEP_NS;
	loop->without += s->steps;
	loop->object = loop->without < TS_STEPS_WITHOUT ? s->object : 0;
	if (!s->task)
		return 1;
	coroutine = user_word(s->task + 8 * (u64)loop->coroutine_word);
	s->e.name[0] = 0;
	if (!coroutine || !is_task(where, s->task, coroutine))
		return 1;
	number = number_by_name(where, pid);
	if (!number || !mark_left(where, pid, coroutine))
		return 1;
	left = place_left(loop, at, st->id, number, &place);
	if (!left)
		return 0;
	/* The list is a ring: only a task that was not known yet makes it worth going on. */
	if (!left->number) {
		loop->without = 0;
		left->number = number;
		left->task = s->task;
		left->coroutine = coroutine;
		left->mark = 0;
	}
	if (left->number == number)
		left->searched = 1;
	return 1;
}

#endif
