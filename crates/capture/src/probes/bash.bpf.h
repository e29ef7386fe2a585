/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/*
 * Where a bash is in its scripts. It keeps the functions that it is in, where they were called and in which files in
 * three of its variables (FUNCNAME, BASH_LINENO, BASH_SOURCE), which are read here, in its own context: a
 * moment later they are others. Where they are found is what user space says of a process (struct ts_bash); one
 * it says nothing of costs one look into a map.
 *
 * Nothing that is read is trusted: an address that leads nowhere ends the walk.
 */
#ifndef TIMESINK_BASH_H
#define TIMESINK_BASH_H

/* Which processes are a bash, and where it keeps what. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, struct ts_bash);
} bashes SEC(".maps");

/* One for each context that may interrupt another, as of stacks. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, TS_CONTEXTS);
	__type(key, u32);
	__type(value, struct ts_script);
} script_scratch SEC(".maps");

/* bash's own types, as of 5.2. */
struct bash_scope {
	u64 name;
	u32 scope, flags;
	u64 up, down, table;
};
struct bash_table {
	u64 buckets;
	u32 count, entries;
};
struct bash_bucket {
	u64 next, key, variable;
	u32 hash, found;
};
struct bash_variable {
	u64 name, value;
};
struct bash_array {
	u64 max_index, count, head;
};
struct bash_element {
	u64 index, value, next, previous;
};

/* What bash itself reckons for the names of its variables (FNV-1, 32 bits), and their first 8 letters. */
#define BASH_FUNCNAME 0x2c56946a
#define BASH_SOURCE 0x929d46fd
#define BASH_LINENO 0x59e6c8ad
#define BASH_FUNCNAME_WORD 0x454d414e434e5546 /* FUNCNAME */
#define BASH_SOURCE_WORD 0x554f535f48534142 /* BASH_SOU */
#define BASH_LINENO_WORD 0x4e494c5f48534142 /* BASH_LIN */
#define BASH_BUCKET 64 /* so many variables are looked at to find one */
#define BASH_FEW_STEPS 8 /* the same, and for functions, where the kernel has no loops */

struct bash_descent {
	u64 function, file, line; /* where it is in the lists */
	u64 mark;
	u32 count;
	u32 pad;
};

/* What changes from round to round. */
struct bash_work {
	u64 at; /* the bucket to look at next */
	u64 variable; /* found */
	struct bash_table table;
	struct bash_bucket bucket;
	struct bash_descent descent;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, TS_CONTEXTS);
	__type(key, u32);
	__type(value, struct bash_work);
} bash_scratch SEC(".maps");

struct bash_look {
	struct bash_work *work;
	u64 word;
	u32 hash;
	u32 pad;
};

static long next_bucket(u64 index, struct bash_look *l)
{
	struct bash_work *w = l->work;
	struct bash_bucket *b = &w->bucket;

	if (!w->at || bpf_probe_read_user(b, sizeof(*b), (void *)w->at))
		return 1;
	w->at = b->next;
	if (b->hash != l->hash || user_word(b->key) != l->word)
		return 0;
	w->variable = b->variable;
	return 1;
}

/* Where the list of an array begins and ends, 0: nowhere. A global function, so that the verifier looks at it once. */
__attribute__((noinline)) u64 bash_list(u32 where, u64 table, u32 hash, u64 word)
{
	struct bash_look l = { .word = word, .hash = hash };
	struct bash_work *w = bpf_map_lookup_elem(&bash_scratch, &where);
	u32 count;
	u64 at;

	if (!w)
		return 0;
	l.work = w;
	w->variable = 0;
	w->table.count = 0;
	bpf_probe_read_user(&w->table, sizeof(w->table), (void *)table);
	count = w->table.count;
	if (!count || count & (count - 1))
		return 0;
	w->at = user_word(w->table.buckets + 8 * (u64)(hash & (count - 1)));
	LOOP(BASH_BUCKET, BASH_FEW_STEPS, next_bucket, &l);
	if (!w->variable)
		return 0;
	at = user_word(w->variable + __builtin_offsetof(struct bash_variable, value));
	at = user_word(at + __builtin_offsetof(struct bash_array, head));
	/* That it is one is told by its index. */
	return at && user_word(at) == ~0ULL ? at : 0;
}

/*
 * Go to the next element, and copy its text; not above 0: there is none. The element where a list begins and ends has
 * no text. Without branches, of which the verifier would follow each combination.
 */
static __always_inline long next_text(u64 *at, char *text, u32 size)
{
	*at = user_word(*at + __builtin_offsetof(struct bash_element, next));
	return bpf_probe_read_user_str(text, size, (void *)user_word(*at + __builtin_offsetof(struct bash_element, value)));
}

struct bash_walk {
	struct ts_script *e;
	struct bash_descent *descent;
};

/* It is told which one it is: a count of its own would be followed by the verifier from step to step. */
static long next_function(u64 index, struct bash_walk *w)
{
	struct bash_descent *d = w->descent;
	struct ts_bash_frame *f;

	if (index >= TS_BASH_FRAMES) {
		w->e->cut = 1;
		return 1;
	}
	barrier_var(index);
	index &= TS_BASH_FRAMES - 1;
	f = &w->e->frame[index];
	if (next_text(&d->function, f->function, sizeof(f->function)) <= 0)
		return 1;
	if (next_text(&d->file, f->file, sizeof(f->file)) <= 0)
		return 1;
	if (next_text(&d->line, f->line, sizeof(f->line)) <= 0)
		return 1;
	d->mark = mixed(mixed(d->mark, *(u64 *)f->line), d->function);
	d->count = index + 1;
	return 0;
}

/*
 * Read where the current bash is into the scratch; a mark that is its, 0: in no script. A global function, as above.
 */
__attribute__((noinline)) u64 read_script(u32 where, u32 pid)
{
	struct ts_bash *b = bpf_map_lookup_elem(&bashes, &pid);
	struct bash_work *work = bpf_map_lookup_elem(&bash_scratch, &where);
	struct ts_script *e = bpf_map_lookup_elem(&script_scratch, &where);
	struct bash_descent *d;
	struct bash_walk w;
	u64 table;

	if (!b || !work || !e)
		return 0;
	w.e = e;
	w.descent = d = &work->descent;
	e->line = user_word(b->line);
	e->simple_line = user_word(b->simple_line);
	e->trap = user_word(b->trap);
	e->cut = 0;
	bpf_probe_read_user(e->command, sizeof(e->command), (void *)user_word(b->command));
	table = user_word(user_word(b->variables) + __builtin_offsetof(struct bash_scope, table));
	d->function = bash_list(where, table, BASH_FUNCNAME, BASH_FUNCNAME_WORD);
	d->file = bash_list(where, table, BASH_SOURCE, BASH_SOURCE_WORD);
	d->line = bash_list(where, table, BASH_LINENO, BASH_LINENO_WORD);
	d->mark = mixed(mixed(1, (u64)e->line << 32 | e->simple_line), *(u64 *)e->command ^ e->trap);
	d->count = 0;
	if (!d->function || !d->file || !d->line)
		return 0;
	e->cut |= LOOP(TS_BASH_FRAMES + 1, BASH_FEW_STEPS, next_function, &w);
	e->count = d->count;
	return d->count ? d->mark : 0;
}

/* Hand over what was read, which belongs to the stack of that moment. */
__attribute__((noinline)) int tell_script(u32 where, u32 id, u64 t, u32 what)
{
	struct ts_script *e = bpf_map_lookup_elem(&script_scratch, &where);
	u64 size;

	if (!e)
		return 1;
	head(&e->head, TS_SCRIPT, id, t);
	e->what = what;
	size = e->count;
	if (size > TS_BASH_FRAMES)
		return 1;
	size *= sizeof(e->frame[0]);
	/* Else clang adds by joining bits, which the verifier cannot follow. */
	barrier_var(size);
	size += __builtin_offsetof(struct ts_script, frame);
	return !has_room(TS_STACK) || bpf_ringbuf_output(&ring, e, size, BPF_RB_NO_WAKEUP);
}

/* What is forked from a bash is one too, until it executes. */
static __always_inline void inherit_bash(u32 from, u32 to)
{
	struct ts_bash *b = bpf_map_lookup_elem(&bashes, &from);

	if (b && from != to)
		bpf_map_update_elem(&bashes, &to, b, BPF_ANY);
}

#endif
