/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/*
 * The frames of CPython. The interpreter keeps them in a list of its own, which is read here, in the thread's
 * context: a moment later they are others. Where everything lies differs from version to version and is
 * what user space says of a process (struct ts_python); one it says nothing of costs one look into a map. What a
 * code object is called is told once, here too, because processes may be gone before anybody could ask.
 *
 * Nothing that is read is trusted: an address that leads nowhere ends the walk.
 */
#ifndef TIMESINK_PYTHON_H
#define TIMESINK_PYTHON_H

/* Which processes are CPython, and how it is laid out there. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, struct ts_python);
} pythons SEC(".maps");

/*
 * Which code objects have been told, each in the one place that its number leads to: two of them that meet
 * are told again now and then. Without locks, because the sampler may interrupt anything.
 */
#define TS_CODES 32768
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TS_CODES);
	__type(key, u32);
	__type(value, u64);
} codes_told SEC(".maps");

/* One for each context that may interrupt another, as of stacks. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, TS_CONTEXTS);
	__type(key, u32);
	__type(value, struct ts_frames);
} frames_scratch SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, TS_CONTEXTS);
	__type(key, u32);
	__type(value, struct ts_code);
} code_scratch SEC(".maps");

#define TS_PYTHON_THREADS 1024 /* so many are looked at to find one */
#define TS_FEW_STEPS 24 /* the same, and for frames, where the kernel has no loops */
#define TS_PYTHON_PATIENCE 16 /* a thread that is none of Python's so often is looked for more rarely */

struct ts_descent {
	u64 frame;
	u64 mark;
	u32 count;
	u32 fresh; /* the next frame is not called by the interpreter's own loop */
};

/* What changes from round to round. */
struct ts_python_work {
	u64 interpreter; /* to look at next, and which of its threads */
	u64 thread;
	u64 found;
	struct ts_descent descent;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, TS_CONTEXTS);
	__type(key, u32);
	__type(value, struct ts_python_work);
} python_scratch SEC(".maps");

struct ts_python_look {
	struct ts_python_work *work;
	struct ts_python *p;
	struct ts_frames *e;
	u64 id; /* what pthread_self says in the thread that is looked for */
};

static long next_thread(u64 index, struct ts_python_look *l)
{
	struct ts_python_work *s = l->work;
	struct ts_python *p = l->p;

	if (!s->thread) {
		if (!s->interpreter)
			return 1;
		s->thread = user_word(s->interpreter + p->threads);
		s->interpreter = user_word(s->interpreter + p->interpreter_next);
		return 0;
	}
	if (user_word(s->thread + p->thread_id) == l->id) {
		s->found = s->thread;
		return 1;
	}
	s->thread = user_word(s->thread + p->thread_next);
	return 0;
}

/* What Python knows of the current thread, 0: nothing. By its pthread_self, which is the same in every namespace. */
static __always_inline u64 python_thread(struct ts_python_look *l, u64 known)
{
	struct ts_python_work *s = l->work;
	struct ts_python *p = l->p;

	if (known && user_word(known + p->thread_id) == l->id)
		return known;
	s->interpreter = user_word(p->runtime + p->interpreters);
	s->thread = 0;
	s->found = 0;
	LOOP(TS_PYTHON_THREADS, TS_FEW_STEPS, next_thread, l);
	return s->found;
}

static long next_frame(u64 index, struct ts_python_look *l)
{
	struct ts_descent *d = &l->work->descent;
	struct ts_python *p = l->p;
	struct ts_frames *e = l->e;
	u64 frame = d->frame, code, at;
	u32 count = d->count;
	u8 flag = 0;

	if (!frame)
		return 1;
	d->frame = user_word(frame + p->frame_previous);
	if (p->kind != TS_PYTHON_OBJECTS)
		bpf_probe_read_user(&flag, sizeof(flag), (void *)frame + p->frame_entry);
	if (p->kind == TS_PYTHON_SHIMS && flag >= TS_PYTHON_SHIM) {
		d->fresh = 1;
		return 0;
	}
	if (count >= TS_INTERPRETER_FRAMES) {
		e->cut = 1;
		return 1;
	}
	/* Since 3.14 the lowest bits say how the reference is counted. */
	code = user_word(frame + p->frame_code) & ~7ULL;
	at = user_word(frame + p->frame_at);
	if (p->kind == TS_PYTHON_OBJECTS)
		at = (u32)at << p->at_shift;
	else
		at -= code + p->code_start;
	d->mark = mixed(mixed(d->mark, code), at);
	barrier_var(count);
	count &= TS_INTERPRETER_FRAMES - 1;
	e->frame[count].code = code;
	e->frame[count].at = at;
	e->frame[count].fresh = d->fresh;
	d->count = count + 1;
	d->fresh = p->kind == TS_PYTHON_OBJECTS || (p->kind == TS_PYTHON_ENTRIES && flag);
	return 0;
}

/*
 * Read the frames of the current thread into the scratch; a mark that is theirs, 0: there are none. It is told
 * where the thread was found the last time, and tells it in the scratch. A global function, so that the
 * verifier looks at it once.
 */
__attribute__((noinline)) u64 read_python(u32 where, u32 pid, u64 known)
{
	struct ts_frames *e = bpf_map_lookup_elem(&frames_scratch, &where);
	struct ts_python *p = bpf_map_lookup_elem(&pythons, &pid);
	struct ts_python_work *work = bpf_map_lookup_elem(&python_scratch, &where);
	struct task_struct *task = bpf_get_current_task_btf();
	struct ts_python_look l = { .work = work, .p = p, .e = e };
	struct ts_descent *d;
	u64 thread;

	if (!e || !p || !work)
		return 0;
	e->count = 0;
	e->cut = 0;
	e->serial = p->serial;
	l.id = BPF_CORE_READ(task, thread.fsbase);
	thread = python_thread(&l, known);
	e->python_thread = thread;
	if (!thread)
		return 0;
	if (p->cframe)
		thread = user_word(thread + p->cframe);
	d = &work->descent;
	d->frame = user_word(thread + p->current_frame);
	d->mark = 1;
	d->count = 0;
	d->fresh = 1;
	e->cut |= LOOP(2 * TS_INTERPRETER_FRAMES, TS_FEW_STEPS, next_frame, &l);
	e->count = d->count;
	return d->count ? d->mark : 0;
}

/* Copy a text; what is in it, and how wide its letters are, is for user space to see. */
static __always_inline void copy_text(struct ts_text *t, struct ts_python *p, u64 text)
{
	u32 state = user_word(text + p->text_state), wide = (state >> 2) & 7;
	u64 length = user_word(text + p->text_length), start = text + p->text_wide;

	if (state & 1 << 6)
		start = text + p->text_ascii;
	t->wide = wide;
	t->length = 0;
	/* Not compact: extension modules could make those, the compiler does not. */
	if (!(state & 1 << 5) || !wide || wide > 4)
		return;
	length *= wide;
	if (length > TS_TEXT)
		length = TS_TEXT;
	barrier_var(length);
	length &= 2 * TS_TEXT - 1;
	if (length > TS_TEXT)
		return;
	if (!bpf_probe_read_user(t->bytes, length, (void *)start))
		t->length = length;
}

/* Tell what a code object is called, in which file, and which of its instructions are of which line. */
__attribute__((noinline)) int tell_code(u32 where, u32 pid, u64 code, u64 id)
{
	struct ts_code *e = bpf_map_lookup_elem(&code_scratch, &where);
	struct ts_python *p = bpf_map_lookup_elem(&pythons, &pid);
	u64 table, length, size;

	if (!e || !p)
		return 1;
	head(&e->head, TS_CODE, 0, bpf_ktime_get_ns());
	e->id = id;
	e->version = p->version;
	e->first_line = user_word(code + p->code_first_line);
	copy_text(&e->name, p, user_word(code + p->code_name));
	copy_text(&e->file, p, user_word(code + p->code_file));
	table = user_word(code + p->code_table);
	length = user_word(table + p->bytes_length);
	if (length > TS_TABLE)
		length = TS_TABLE;
	barrier_var(length);
	length &= 2 * TS_TABLE - 1;
	if (length > TS_TABLE)
		return 1;
	if (bpf_probe_read_user(e->table, length, (void *)table + p->bytes_start))
		length = 0;
	e->length = length;
	size = __builtin_offsetof(struct ts_code, table) + length;
	if (!has_room(TS_CODE) || bpf_ringbuf_output(&ring, e, size, BPF_RB_NO_WAKEUP)) {
		count_lost(TS_CODE, 1);
		return 1;
	}
	return 0;
}

/*
 * Of a code object, what it is told by; it is told of if it was not yet. Its address may be that of another one tomorrow; with the
 * addresses of its texts, and its first line, that is unlikely.
 */
static __always_inline u64 told_code(u32 where, u32 pid, struct ts_python *p, u64 code)
{
	u64 id = mixed(mixed(p->serial, code), user_word(code + p->code_name)), *told;
	u32 slot;

	id = mixed(mixed(id, user_word(code + p->code_file)), (u32)user_word(code + p->code_first_line));
	slot = id >> 49;
	told = bpf_map_lookup_elem(&codes_told, &slot);
	if (!told || *told == id)
		return id;
	*told = id;
	if (tell_code(where, pid, code, id))
		*told = 0;
	return id;
}

struct ts_naming {
	struct ts_python *p;
	struct ts_frames *e;
	u32 where;
	u32 pid;
};

static long name_frame(u64 index, struct ts_naming *n)
{
	struct ts_python *p = n->p;
	struct ts_frames *e = n->e;

	if (index >= e->count || index >= TS_INTERPRETER_FRAMES)
		return 1;
	barrier_var(index);
	index &= TS_INTERPRETER_FRAMES - 1;
	e->frame[index].code = told_code(n->where, n->pid, p, e->frame[index].code);
	return 0;
}

/* Hand over the frames in the scratch, of whichever interpreter. */
static __always_inline int tell_frames(struct ts_frames *e, u32 id, u64 t, u32 what)
{
	u64 size;

	head(&e->head, TS_INTERPRETED, id, t);
	e->what = what;
	size = e->count;
	if (size > TS_INTERPRETER_FRAMES)
		return 1;
	size = __builtin_offsetof(struct ts_frames, frame) + size * sizeof(e->frame[0]);
	return !has_room(TS_STACK) || bpf_ringbuf_output(&ring, e, size, BPF_RB_NO_WAKEUP);
}

/* Hand over the frames that were read, which belong to the stack of that moment. */
__attribute__((noinline)) int tell_python(u32 where, u32 pid, u32 id, u64 t, u32 what)
{
	/* The keys of the look-ups stand in it too: here the stack is deep. */
	struct ts_naming n = { .where = where, .pid = pid };
	struct ts_frames *e = n.e = bpf_map_lookup_elem(&frames_scratch, &n.where);

	n.p = bpf_map_lookup_elem(&pythons, &n.pid);
	if (!e || !n.p)
		return 1;
	LOOP(TS_INTERPRETER_FRAMES, TS_FEW_STEPS, name_frame, &n);
	return tell_frames(e, id, t, what);
}

/* What is forked from a Python is one too. */
static __always_inline void inherit_python(u32 from, u32 to)
{
	struct ts_python *p = bpf_map_lookup_elem(&pythons, &from);

	if (p && from != to)
		bpf_map_update_elem(&pythons, &to, p, BPF_ANY);
}

#endif
