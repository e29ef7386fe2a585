/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/*
 * The calls that interpreters list themselves: what those have in common. They are read here, in the thread's
 * context: a moment later they are others. Where everything lies is what user space says of a process (struct
 * ts_interpreter); one it says nothing of costs one look into a map. What a function is called is told once.
 *
 * Nothing that is read is trusted: an address that leads nowhere ends the walk.
 */
#ifndef TIMESINK_INTERPRETERS_H
#define TIMESINK_INTERPRETERS_H

/* Which processes are such an interpreter, and how it is laid out there. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, struct ts_interpreter);
} interpreters SEC(".maps");

/* One for each context that may interrupt another, as of stacks. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, TS_CONTEXTS);
	__type(key, u32);
	__type(value, struct ts_function);
} function_scratch SEC(".maps");

#define TS_CALLS_FEW 16 /* so many calls are read where the kernel has no loops */

/* What changes from round to round. */
struct ts_calls_work {
	u64 at; /* the call to read next */
	u64 mark;
	u32 count;
	u32 fresh; /* the next call is not of the same run of the engine as the one before */
	u32 index; /* Perl: of the call in its stack */
	u32 pad;
	u64 end; /* Ruby: where the calls end */
	u64 stack; /* Perl: the stack that the call is in, and the statement that it is at */
	u64 statement;
	u64 code, file, id; /* the function that is being told of; Perl: the file, too */
	u64 words[12]; /* a call, as the language lays it out */
	u64 other[TS_INTERPRETER_FRAMES]; /* of each frame what is needed for its name, beside its function */
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, TS_CONTEXTS);
	__type(key, u32);
	__type(value, struct ts_calls_work);
} calls_scratch SEC(".maps");

struct ts_calls_walk {
	struct ts_calls_work *work;
	struct ts_interpreter *p;
	struct ts_frames *e;
	u64 r14, r15;
	u64 thread; /* what pthread_self says */
};

/* One more frame, the next outwards; whether a run of the engine ends with it. */
static __always_inline long add_frame(struct ts_calls_walk *w, u64 code, u64 other, u32 line, bool ends_run)
{
	struct ts_calls_work *s = w->work;
	struct ts_frames *e = w->e;
	u32 count = s->count;

	if (count >= TS_INTERPRETER_FRAMES) {
		e->cut = 1;
		return 1;
	}
	s->mark = mixed(mixed(s->mark, code ^ (other << 7)), line);
	barrier_var(count);
	count &= TS_INTERPRETER_FRAMES - 1;
	e->frame[count].code = code;
	e->frame[count].at = line;
	e->frame[count].fresh = s->fresh;
	s->other[count] = other;
	s->count = count + 1;
	s->fresh = ends_run;
	return 0;
}

/* What is forked from an interpreter is one too. */
static __always_inline void inherit_interpreter(u32 from, u32 to)
{
	struct ts_interpreter *p = bpf_map_lookup_elem(&interpreters, &from);

	if (p && from != to)
		bpf_map_update_elem(&interpreters, &to, p, BPF_ANY);
}

#endif
