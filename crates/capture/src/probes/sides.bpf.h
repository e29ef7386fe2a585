/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/* What goes beside a stack: the frames that the interpreter of its process lists itself, whichever that is. */
#ifndef TIMESINK_SIDES_H
#define TIMESINK_SIDES_H

/*
 * Read the calls of the current thread's interpreter into the scratch; a mark that is theirs, 0: there are none. A global
 * function, so that the verifier looks at it once.
 */
__attribute__((noinline)) u64 read_calls(u32 where, u32 pid)
{
	struct ts_calls_walk w = { .work = bpf_map_lookup_elem(&calls_scratch, &where) };
	struct task_struct *task = bpf_get_current_task_btf();
	struct ts_stack *s = scratch_of(where);
	struct ts_calls_work *work = w.work;
	struct ts_frames *e = w.e = bpf_map_lookup_elem(&frames_scratch, &where);

	w.p = bpf_map_lookup_elem(&interpreters, &pid);
	if (!s || !work || !e || !w.p)
		return 0;
	w.r14 = s->r14;
	w.r15 = s->r15;
	e->cut = 0;
	work->mark = 1;
	work->count = 0;
	work->fresh = 1;
	w.thread = BPF_CORE_READ(task, thread.fsbase);
	if (w.p->language == TS_PHP) {
		work->at = user_word(w.p->state);
		e->cut |= LOOP(TS_INTERPRETER_FRAMES + 1, TS_CALLS_FEW, next_php, &w);
	} else if (w.p->language == TS_RUBY) {
		ruby_begin(&w);
		e->cut |= LOOP(RUBY_CALLS, TS_CALLS_FEW, next_ruby, &w);
	} else {
		perl_begin(&w);
		e->cut |= LOOP(PERL_ROUNDS, TS_CALLS_FEW, next_perl, &w);
	}
	e->count = work->count;
	return work->count ? work->mark : 0;
}

/*
 * What tells the function of a frame from all others, 0: there is no such frame. It takes the place of the function in the
 * frame, and an instruction's line that of the instruction. Processes that were forked from one may have different functions
 * at one address: each has its own.
 */
__attribute__((noinline)) u64 identify_call(u32 where, u32 pid, u32 index)
{
	struct ts_calls_work *work = bpf_map_lookup_elem(&calls_scratch, &where);
	struct ts_interpreter *p = bpf_map_lookup_elem(&interpreters, &pid);
	struct ts_frames *e = bpf_map_lookup_elem(&frames_scratch, &where);
	u64 code, id;

	if (!work || !p || !e || index >= e->count || index >= TS_INTERPRETER_FRAMES)
		return 0;
	barrier_var(index);
	index &= TS_INTERPRETER_FRAMES - 1;
	work->code = code = e->frame[index].code;
	if (p->language == TS_PHP) {
		id = php_identity(work, p, code);
	} else if (p->language == TS_RUBY) {
		id = ruby_identity(work, code);
		e->frame[index].at = ruby_line(work, p, code, e->frame[index].at);
	} else {
		work->file = work->other[index];
		id = perl_identity(code, work->file);
	}
	id = mixed(id, pid);
	work->id = id;
	e->frame[index].code = id;
	return id;
}

/* Tell what the function that was identified is called, and in which file it is. */
__attribute__((noinline)) int tell_function(u32 where, u32 pid)
{
	struct ts_function *e = bpf_map_lookup_elem(&function_scratch, &where);
	struct ts_interpreter *p = bpf_map_lookup_elem(&interpreters, &pid);
	struct ts_calls_work *work = bpf_map_lookup_elem(&calls_scratch, &where);

	if (!e || !p || !work)
		return 1;
	head(&e->head, TS_FUNCTION, 0, bpf_ktime_get_ns());
	e->id = work->id;
	e->language = p->language;
	e->kind = 0;
	e->owner[0] = 0;
	e->name[0] = 0;
	e->file[0] = 0;
	if (p->language == TS_PHP)
		php_names(work, e, p, work->code);
	else if (p->language == TS_RUBY)
		ruby_names(work, e, p, work->code);
	else
		perl_names(work, e, p);
	if (!has_room(TS_FUNCTION) || bpf_ringbuf_output(&ring, e, sizeof(*e), BPF_RB_NO_WAKEUP)) {
		count_lost(TS_FUNCTION, 1);
		return 1;
	}
	return 0;
}

/* The stack is deep here: each of these has next to nothing on its own. */
struct ts_call_naming {
	u32 where;
	u32 pid;
};

static long name_function(u64 index, struct ts_call_naming *n)
{
	u64 id = identify_call(n->where, n->pid, index), *told;
	u32 slot = id >> 49;

	if (!id)
		return 1;
	told = bpf_map_lookup_elem(&codes_told, &slot);
	if (!told || *told == id)
		return 0;
	*told = id;
	if (tell_function(n->where, n->pid))
		*told = 0;
	return 0;
}

/* Hand over the calls that were read, which belong to the stack that is in the scratch. */
__attribute__((noinline)) int tell_calls(u32 where, u32 pid)
{
	struct ts_call_naming n = { .where = where, .pid = pid };
	struct ts_frames *e;
	struct ts_stack *s;

	LOOP(TS_INTERPRETER_FRAMES, TS_CALLS_FEW, name_function, &n);
	e = bpf_map_lookup_elem(&frames_scratch, &n.where);
	s = scratch_of(n.where);
	return !e || !s || tell_frames(e, s->head.thread, s->head.t, s->what);
}

/*
 * Read what an interpreter says of the current thread's stack; a mark of that, 0: nothing. The keys of the look-ups stand in
 * the stack's event: here no more may be on our own.
 */
static __always_inline u64 look_into(u32 where, struct ts_thread *st, struct ts_stack *s)
{
	struct ts_frames *e;
	u64 mark;

	if (bpf_map_lookup_elem(&interpreters, &s->pid))
		return read_calls(where, s->pid);
	if (!bpf_map_lookup_elem(&pythons, &s->pid))
		return read_script(where, s->pid);
	if (!st->python && st->no_python > TS_PYTHON_PATIENCE && (++st->no_python & 7))
		return 0;
	mark = read_python(where, s->pid, st->python);
	e = bpf_map_lookup_elem(&frames_scratch, &where);
	st->python = e ? e->python_thread : 0;
	st->no_python = st->python ? 0 : st->no_python + 1;
	return mark;
}

/* Hand over what the interpreter says of a stack, whichever it is. */
static __always_inline int tell_side(u32 where, struct ts_thread *st, struct ts_stack *s)
{
	if (bpf_map_lookup_elem(&interpreters, &s->pid))
		return tell_calls(where, s->pid);
	if (bpf_map_lookup_elem(&bashes, &s->pid))
		return tell_script(where, st->id, s->head.t, s->what);
	return tell_python(where, s->pid, st->id, s->head.t, s->what);
}

#endif
