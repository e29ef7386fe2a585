/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/*
 * The calls of Ruby. Each thread has what it executes (ec) in memory of its own, or, before 3.0, the one that may execute has; a
 * call is an element of an array that grows downwards, with the instructions (iseq) that it executes and where it is in
 * them. Functions that C implements have none: their native frames stand for them.
 */
#ifndef TIMESINK_RUBY_H
#define TIMESINK_RUBY_H

/* As Ruby lays these out since 2.7. */
struct ruby_execution {
	u64 stack, words, call;
};
struct ruby_call {
	u64 at, sp, instructions, self, environment;
};
#define RUBY_BODY 16 /* of instructions: what else there is of them */
#define RUBY_TOP 0 /* what they are: of a whole file; the program's own are another kind */
#define RUBY_ENCODED 8 /* and of that: where they are */
#define RUBY_FILE 64 /* what file they are of */
#define RUBY_LABEL 80 /* what they are called */
#define RUBY_FINISH 0x20 /* in an environment: the call was made by C, and has an engine of its own */
#define RUBY_CALLS (2 * TS_INTERPRETER_FRAMES) /* with those of C */
#define RUBY_NEAR 54 /* so many instructions are numbered in another way */
#define RUBY_KIND 0x1f /* of an object: what it is */
#define RUBY_STRING 5
#define RUBY_ARRAY 7
#define RUBY_ELSEWHERE (1 << 13) /* a text: it is not in the object itself; an array: it is */

/* Where the calls of the current thread begin. */
static __always_inline void ruby_begin(struct ts_calls_walk *w)
{
	struct ts_interpreter *p = w->p;
	struct ts_calls_work *s = w->work;
	struct ruby_execution *x = (void *)s->words;
	u64 execution = p->state, module = p->module;

	s->at = 0;
	s->end = 0;
	if (module) {
		/* glibc lists the memory of modules: each has two words. */
		if (module != 1)
			module = user_word(module);
		execution += user_word(user_word(w->thread + 8) + 16 * module);
	}
	execution = user_word(execution);
	if (!execution || bpf_probe_read_user(x, sizeof(*x), (void *)execution))
		return;
	/* The one that may execute can be another. */
	if (p->ruby_thread && user_word(user_word(execution + p->ruby_thread) + p->ruby_thread_id) != w->thread)
		return;
	s->at = x->call;
	s->end = x->stack + 8 * x->words;
}

static long next_ruby(u64 index, struct ts_calls_walk *w)
{
	struct ts_calls_work *s = w->work;
	struct ruby_call *c = (void *)s->words;
	u64 body, place;

	if (!s->at || s->at >= s->end || bpf_probe_read_user(c, sizeof(*c), (void *)s->at))
		return 1;
	s->at += w->p->ruby_frame;
	if (!c->at || !c->instructions)
		return 0;
	body = user_word(c->instructions + RUBY_BODY);
	place = (c->at - user_word(body + RUBY_ENCODED)) / 8;
	/* The program is called out of a call that Ruby has made for that, which executes nothing. */
	if (!place && (u32)user_word(body) == RUBY_TOP)
		return 0;
	return add_frame(w, body, 0, place, user_word(c->environment) & RUBY_FINISH);
}

static __always_inline u32 count_ones(u64 word)
{
	word -= (word >> 1) & 0x5555555555555555;
	word = (word & 0x3333333333333333) + ((word >> 2) & 0x3333333333333333);
	word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f;
	return (word * 0x0101010101010101) >> 56;
}

/* As Ruby numbers its lines: instruction by instruction for the first ones, then in blocks of 512 with a bit for each. */
struct ruby_block {
	u32 rank, pad;
	u64 small_ranks;
	u64 bits[8];
};

/* How many lines have begun up to an instruction. */
static __always_inline u32 ruby_rank(u64 table, u32 place)
{
	u32 at = place - RUBY_NEAR, small = at % 512 / 64, rank;
	u64 block = table + 48 + at / 512 * sizeof(struct ruby_block);
	u64 word;

	if (place < RUBY_NEAR)
		return user_word(table + place / 9 * 8) >> (place % 9 * 7) & 0x7f;
	rank = user_word(block);
	if (small)
		rank += user_word(block + 8) >> ((small - 1) * 9) & 0x1ff;
	word = user_word(block + 16 + 8 * small);
	return rank + count_ones(word << (63 - at % 64));
}

/* The line that an instruction is of; before the next one it has been executed. 0: not known. */
static __always_inline u32 ruby_line(struct ts_calls_work *s, struct ts_interpreter *p, u64 body, u32 place)
{
	u64 *lines = s->words; /* entries, places, how many, table */
	u32 count, rank;

	if (bpf_probe_read_user(lines, 32, (void *)body + p->ruby_lines))
		return 0;
	count = lines[2];
	rank = count == 1 ? 1 : ruby_rank(lines[3], place ? place - 1 : 0);
	if (!rank || rank > count)
		return 0;
	return user_word(lines[0] + (u64)(rank - 1) * p->ruby_line);
}

/* What tells instructions from others that were at the same address. */
static __always_inline u64 ruby_identity(struct ts_calls_work *s, u64 body)
{
	u64 *file = s->words; /* its file, base label, label and first line */

	__builtin_memset(file, 0, 32);
	bpf_probe_read_user(file, 32, (void *)body + RUBY_FILE);
	body = mixed(mixed(body, file[0]), file[2]);
	return mixed(body, (u32)file[3]);
}

/* Copy a text; nothing, if it is none. */
static __always_inline void ruby_copy(char *to, u32 size, struct ts_calls_work *s, struct ts_interpreter *p, u64 text)
{
	u64 *words = s->words; /* flags, class, length, where it is */
	u32 length;

	if (!text || text & 7 || bpf_probe_read_user(words, 32, (void *)text) || (words[0] & RUBY_KIND) != RUBY_STRING)
		return;
	length = words[2];
	if (words[0] & RUBY_ELSEWHERE)
		text = words[3];
	else
		text += p->ruby_text;
	/* Up to 3.1 a short one has its length in its flags. */
	if (p->ruby_text == 16 && !(words[0] & RUBY_ELSEWHERE))
		length = words[0] >> 14 & 31;
	length += 1;
	if (length > size)
		length = size;
	barrier_var(length);
	if (length > size)
		return;
	bpf_probe_read_user_str(to, length, (void *)text);
}

static __always_inline void ruby_names(struct ts_calls_work *s, struct ts_function *e, struct ts_interpreter *p, u64 body)
{
	u64 file = user_word(body + RUBY_FILE), flags = user_word(file), list;

	/* What is forked may not have touched yet where Ruby keeps the names that it gives itself. */
	e->kind = (u32)user_word(body);
	ruby_copy(e->name, sizeof(e->name), s, p, user_word(body + RUBY_LABEL));
	if ((flags & RUBY_KIND) == RUBY_ARRAY) {
		/* As it was called, and where it really is, if that is somewhere. */
		list = flags & RUBY_ELSEWHERE ? file + 16 : user_word(file + 32);
		ruby_copy(e->file, sizeof(e->file), s, p, user_word(list + 8));
		if (e->file[0])
			return;
		file = user_word(list);
	}
	ruby_copy(e->file, sizeof(e->file), s, p, file);
}

#endif
