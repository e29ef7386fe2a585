/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/*
 * Which coroutine a thread of Python runs for its event loop: the outermost one of its frames. asyncio's own loop calls it in
 * Handle._run, whose handle leads to the task, and that to its number or name. Other loops (uvloop, Trio) have no such frame: there
 * a task is known by its coroutine alone.
 *
 * Nothing that is read is trusted: a task is one only if it says itself that it has that coroutine.
 */
#ifndef TIMESINK_COROUTINES_H
#define TIMESINK_COROUTINES_H

#define TS_PYTHON_GENERATOR 1 /* whose a frame of a coroutine or a generator is: FRAME_OWNED_BY_GENERATOR */
#define TS_CODE_FLAGS 48 /* of a code object, since 3.11 */
#define TS_CODE_COROUTINE 0x80 /* CO_COROUTINE */
#define TS_HANDLE_CALLBACK 24 /* of a Handle: its slots are in the order of their names */
#define TS_METHOD_SELF 24 /* of a built-in method: whose it is. Task.__wakeup is one */
#define TS_STEP_SELF 16 /* of a TaskStepMethWrapper: its task */
#define TS_FRAME_WORDS 16 /* so many words of a frame are read at once: all that comes before its variables, and the first of these */
#define TS_FRAME_READ 88
#define TS_TASK_WORDS 24 /* so many words of a task are looked at */
#define TS_TASK_FIRST 12 /* no task has its coroutine before that */
#define TS_AWAITING_WORDS 32 /* so many words of a coroutine are kept, of which those are read that come before its variables */
#define TS_AWAITING_READ 160
#define TS_AWAITING_DEPTH 12 /* so many that await each other are looked at */
#define TS_OWN_NUMBER (1ULL << 63) /* a number that Python did not give */

struct ts_coroutine_work {
	u64 frame; /* to look at next */
	u64 generator; /* the one before, if it is a generator's or a coroutine's */
	u64 coroutine; /* the outermost frame of one so far */
	u64 name; /* of the task, as an object; 0: there is no task of asyncio */
	u64 task;
	u64 header[TS_FRAME_WORDS];
	u64 words[TS_TASK_WORDS];
	u64 awaiting[TS_AWAITING_WORDS];
	u32 coroutine_word; /* which word of a task is its coroutine */
	u32 steps; /* so many objects were looked at */
	u64 object; /* the header of the next one, for the collector */
	u64 task_type;
	u64 mark; /* of where all are that await each other, so far */
	struct ts_task e;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, TS_CONTEXTS);
	__type(key, u32);
	__type(value, struct ts_coroutine_work);
} coroutine_scratch SEC(".maps");

struct ts_coroutine_look {
	struct ts_coroutine_work *work;
	struct ts_python *p;
	u32 where;
};

/* Whether this is a task of the coroutine; its name, then. A global function, as all that follow: the verifier looks at each once. */
__attribute__((noinline)) int is_task(u32 where, u64 task, u64 coroutine)
{
	struct ts_coroutine_work *s = bpf_map_lookup_elem(&coroutine_scratch, &where);
	u64 name = 0;
	u32 i;

	if (!s || task < TS_PAGE || (task & 7) || bpf_probe_read_user(s->words, sizeof(s->words), (void *)task))
		return 0;
	for (i = TS_TASK_FIRST; i < TS_TASK_WORDS - 1; i++) {
		if (s->words[i] != coroutine)
			continue;
		name = s->words[i + 1];
		s->coroutine_word = i;
	}
	s->name = name;
	s->task = task;
	return name != 0;
}

/* The word of a frame that was read in which this offset lies. */
static __always_inline u64 header_word(struct ts_coroutine_work *s, u32 offset)
{
	u32 word = offset / 8;

	barrier_var(word);
	word &= TS_FRAME_WORDS - 1;
	return s->header[word];
}

/* A frame, from the innermost outwards: whether it is that of the handle whose task the coroutine before it is. */
static long next_outwards(u64 index, struct ts_coroutine_look *l)
{
	struct ts_coroutine_work *s = l->work;
	struct ts_python *p = l->p;
	u64 frame = s->frame, code, callback;
	u32 flags = 0;
	u8 owner;

	if (!frame || bpf_probe_read_user(s->header, TS_FRAME_READ, (void *)frame))
		return 1;
	s->frame = header_word(s, p->frame_previous);
	owner = header_word(s, p->frame_owner) >> (p->frame_owner % 8 * 8);
	if (owner == TS_PYTHON_GENERATOR) {
		s->generator = frame;
		code = header_word(s, p->frame_code) & ~7ULL;
		bpf_probe_read_user(&flags, sizeof(flags), (void *)code + TS_CODE_FLAGS);
		if (flags & TS_CODE_COROUTINE)
			s->coroutine = frame;
		return 0;
	}
	if (owner >= TS_PYTHON_SHIM || !s->generator)
		return 0;
	callback = user_word((header_word(s, p->frame_locals) & ~7ULL) + TS_HANDLE_CALLBACK);
	if (callback && s->generator == s->coroutine &&
	    (is_task(l->where, user_word(callback + TS_METHOD_SELF), s->coroutine - p->generator_frame) ||
	     is_task(l->where, user_word(callback + TS_STEP_SELF), s->coroutine - p->generator_frame)))
		return 1;
	s->generator = 0;
	return 0;
}

/* The number of a task by its name: Python's own, if it has not been given another one. */
__attribute__((noinline)) u64 number_by_name(u32 where, u32 pid)
{
	struct ts_coroutine_work *s = bpf_map_lookup_elem(&coroutine_scratch, &where);
	struct ts_python *p = bpf_map_lookup_elem(&pythons, &pid);
	u64 name[4] = {}, number = 0, length;
	struct ts_task *e;
	u32 i;

	if (!s || !p)
		return 0;
	e = &s->e;
	bpf_probe_read_user(name, sizeof(name), (void *)s->name);
	/* Since 3.12 it is a number until somebody asks for it: so many digits of 30 bits. */
	if (name[1] == p->long_type)
		return name[2] >> 3 == 1 ? (u32)name[3] : TS_OWN_NUMBER | s->task;
	length = user_word(s->name + p->text_length);
	if (length > TS_TASK_NAME - 1)
		length = TS_TASK_NAME - 1;
	barrier_var(length);
	length &= TS_TASK_NAME - 1;
	if (bpf_probe_read_user(e->name, length, (void *)s->name + p->text_ascii))
		return TS_OWN_NUMBER | s->task;
	/* Task-12 */
	if (length > 5 && e->name[0] == 'T' && e->name[1] == 'a' && e->name[2] == 's' && e->name[3] == 'k' && e->name[4] == '-') {
		for (i = 5; i < 14; i++) {
			if (i >= length)
				break;
			if (e->name[i] < '0' || e->name[i] > '9')
				break;
			number = number * 10 + e->name[i] - '0';
		}
		if (i == length) {
			e->name[0] = 0;
			return number;
		}
	}
	return TS_OWN_NUMBER | mixed(s->task, s->name);
}

/* The number of the task that the current thread runs, whose coroutine's frame it leaves in the scratch; 0: it runs none. */
__attribute__((noinline)) u64 find_coroutine(u32 where, u32 pid, u64 known)
{
	struct ts_coroutine_work *s = bpf_map_lookup_elem(&coroutine_scratch, &where);
	struct ts_python_work *work = bpf_map_lookup_elem(&python_scratch, &where);
	struct ts_python *p = bpf_map_lookup_elem(&pythons, &pid);
	struct task_struct *task = bpf_get_current_task_btf();
	struct ts_python_look l = { .work = work, .p = p };
	struct ts_coroutine_look look = { .work = s, .p = p, .where = where };
	u64 thread;

	if (!s || !work || !p)
		return 0;
	s->coroutine = 0;
	s->generator = 0;
	s->name = 0;
	s->task = 0;
	s->frame = 0;
	s->e.name[0] = 0;
	l.id = BPF_CORE_READ(task, thread.fsbase);
	thread = python_thread(&l, known);
	if (!thread)
		return 0;
	if (p->cframe)
		thread = user_word(thread + p->cframe);
	s->frame = user_word(thread + p->current_frame);
	LOOP(TS_INTERPRETER_FRAMES, TS_FEW_STEPS, next_outwards, &look);
	if (s->name)
		return number_by_name(where, pid);
	return s->coroutine ? TS_OWN_NUMBER | s->coroutine : 0;
}

/*
 * A coroutine that is left, by its place among those that await each other: how it is, and where. The next one, which it awaits;
 * 0: it awaits none.
 */
__attribute__((noinline)) u64 tell_left_coroutine(u32 where, u32 pid, u64 coroutine, u32 place)
{
	struct ts_coroutine_work *s = bpf_map_lookup_elem(&coroutine_scratch, &where);
	struct ts_python *p = bpf_map_lookup_elem(&pythons, &pid);
	u64 frame, code, type, top;
	signed char state = 0;
	s32 used = 0;

	if (!s || !p || place >= TS_LEFT_FRAMES)
		return 0;
	type = user_word(coroutine + 8);
	if (type != p->coroutine_type) {
		/* What a coroutine awaits beside others is a future; a generator gives way to others, and could go on. */
		if (type == p->generator_type)
			s->e.left_state = TS_GO_READY;
		return 0;
	}
	bpf_probe_read_user(&state, sizeof(state), (void *)coroutine + p->generator_state);
	if (state >= 0) {
		if (!place)
			s->e.left_state = state ? TS_GO_DEAD : TS_GO_RUNNING;
		return 0;
	}
	s->e.left_state = TS_GO_WAITING;
	frame = coroutine + p->generator_frame;
	code = user_word(frame + p->frame_code) & ~7ULL;
	s->e.left[place] = told_code(where, pid, p, code);
	s->e.left_place[place] = user_word(frame + p->frame_at) - code - p->code_start;
	if (p->stack_pointer) {
		top = user_word(frame + p->frame_stack);
	} else {
		bpf_probe_read_user(&used, sizeof(used), (void *)frame + p->frame_stack);
		top = frame + p->frame_locals + 8 * (u64)(used > 0 ? used : 0);
	}
	return user_word(top - 8) & ~7ULL;
}

/*
 * How the coroutine is now that the thread ran before, and where: it and those that it awaits, the outermost first. What
 * was freed and used again is no coroutine, or one that does not wait.
 */
static __always_inline void tell_left_coroutines(struct ts_coroutine_work *s, u32 where, u32 pid, u64 coroutine)
{
	u32 i;

	s->e.left_state = coroutine ? TS_GO_DEAD : 0;
	for (i = 0; i < TS_LEFT_FRAMES; i++)
		s->e.left[i] = 0;
	for (i = 0; i < TS_LEFT_FRAMES && coroutine; i++)
		coroutine = tell_left_coroutine(where, pid, coroutine, i);
}

#include "left_tasks.bpf.h"

/*
 * Notes which task of a Python's event loop the current thread is at work for at `now` and has been since `since`; tells of it where
 * that is another than before. A thread that has never run one runs no loop. Whether it is known.
 */
__attribute__((noinline)) int note_coroutine(struct ts_thread *st, u32 where, u64 since, u64 now)
{
	u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct ts_coroutine_work *s = bpf_map_lookup_elem(&coroutine_scratch, &where);
	struct ts_python *p = bpf_map_lookup_elem(&pythons, &pid);
	struct ts_task *e;
	u64 number;

	if (!st || !s || !p || !p->coroutines)
		return 0;
	if (!st->python && st->no_python > TS_PYTHON_PATIENCE && (st->no_python & 7))
		return 0;
	number = find_coroutine(where, pid, st->python);
	/* Its frames are too many, or could not be read: it is not known. */
	if (s->frame && !s->name)
		return 0;
	if (number == st->task && (st->task_seen || !number)) {
		if (!st->task_seen)
			return 0;
		st->task_seen = now;
		return 1;
	}
	watch_left(st, where, now);
	e = &s->e;
	begin_task(e, st, TS_OF_PYTHON, pid, number, since);
	tell_left_coroutines(s, where, pid, st->task_seen && st->task ? st->task_at : 0);
	if (number)
		e->entry = told_code(where, pid, p, user_word(s->coroutine + p->frame_code) & ~7ULL);
	if (!has_room(TS_TASK) || bpf_ringbuf_output(&ring, e, sizeof(*e), BPF_RB_NO_WAKEUP)) {
		count_lost(TS_TASK, 1);
		return 0;
	}
	st->task = number;
	st->task_at = s->coroutine - p->generator_frame;
	st->task_object = s->task;
	st->task_seen = now;
	return 1;
}

#endif
