/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/*
 * The calls of Perl, as it is built with threads. Each thread has its interpreter as a value of its own (pthread_getspecific),
 * which has the current statement, and stacks of contexts: each subroutine, and each evaluated text or file, has one, with
 * the statement that it was called in. Functions that C implements have none: their native frames stand for them.
 */
#ifndef TIMESINK_PERL_H
#define TIMESINK_PERL_H

/* As Perl lays these out since 5.32. */
struct perl_stack {
	u64 values, contexts, previous, next;
	s32 last;
};
struct perl_context {
	u32 kind, pad; /* its lowest byte */
	u64 saved, statement, more[3];
	u64 returns_to, saved_values, arguments;
	u64 subroutine;
};
#define PERL_CONTEXT 104 /* a context's size */
#define PERL_KIND 0xf
#define PERL_SUB 9
#define PERL_FORMAT 10
#define PERL_EVAL 11
#define PERL_BLOCK 0xc0 /* of an eval: only a block, which belongs to what it is in */
#define PERL_LINE 36 /* of a statement: its line */
#define PERL_FILE 48 /* and its file */
#define PERL_MANY (1 << 16) /* contexts of one stack */
#define PERL_ROUNDS 1024 /* so many contexts are looked at: loops and blocks have some, too */
/* What stands for a subroutine where there is none. */
#define PERL_MAIN 1
#define PERL_TEXT 2

/* glibc keeps the first values of a thread at the end of what it knows of it. */
#define PTHREAD_VALUES 0x310
#define PTHREAD_KEYS 32

static __always_inline void perl_enter(struct ts_calls_work *s, u64 stack)
{
	struct perl_stack *k = (void *)s->words;

	s->stack = 0;
	if (!stack || bpf_probe_read_user(k, sizeof(*k), (void *)stack) || k->last < -1 || k->last > PERL_MANY)
		return;
	s->stack = k->previous;
	s->at = k->contexts;
	s->index = k->last + 1;
}

/* Where the calls of the current thread begin. */
static __always_inline void perl_begin(struct ts_calls_walk *w)
{
	struct ts_interpreter *p = w->p;
	struct ts_calls_work *s = w->work;
	u32 key = user_word(p->state);
	u64 interpreter;

	s->index = 0;
	s->stack = 0;
	s->statement = 0;
	if (key >= PTHREAD_KEYS)
		return;
	interpreter = user_word(w->thread + PTHREAD_VALUES + 16 * (u64)key + 8);
	if (!interpreter)
		return;
	s->statement = user_word(interpreter + p->perl_statement);
	perl_enter(s, user_word(interpreter + p->perl_stack));
}

/* What the current statement is in; the next frame outwards is at another. */
static __always_inline long add_perl(struct ts_calls_walk *w, u64 subroutine, u64 next, bool ends_run)
{
	struct ts_calls_work *s = w->work;
	u64 at = s->statement;

	s->statement = next;
	return add_frame(w, subroutine, user_word(at + PERL_FILE), user_word(at + PERL_LINE), ends_run);
}

static long next_perl(u64 index, struct ts_calls_walk *w)
{
	struct ts_calls_work *s = w->work;
	struct perl_context *c = (void *)s->words;
	u32 kind;

	if (!s->statement)
		return 1;
	if (!s->index) {
		if (!s->stack) {
			add_perl(w, PERL_MAIN, 0, true);
			return 1;
		}
		perl_enter(s, s->stack);
		return 0;
	}
	s->index--;
	if (bpf_probe_read_user(c, sizeof(*c), (void *)s->at + (u64)s->index * PERL_CONTEXT))
		return 1;
	kind = c->kind & PERL_KIND;
	if (kind == PERL_SUB || kind == PERL_FORMAT)
		return add_perl(w, c->subroutine, c->statement, !c->returns_to);
	if (kind == PERL_EVAL && !(c->kind & PERL_BLOCK))
		return add_perl(w, PERL_TEXT, c->statement, !c->returns_to);
	return 0;
}

/* Of a value: what is particular to its kind, its flags, and what it points at. */
struct perl_value {
	u64 body;
	u32 references, flags;
	u64 points_at;
};
#define PERL_NAMED 0x8000 /* of a subroutine: it has its name itself */
#define PERL_SUB_FLAGS 92
#define PERL_SUB_PACKAGE 32
#define PERL_SUB_NAME 56 /* a name, or a symbol */
#define PERL_SYMBOL_NAME 32
#define PERL_SYMBOL_PACKAGE 40
#define PERL_MORE 0x02000000 /* of a package: there is more than its table */
#define PERL_TABLE 24 /* its table's highest place */
#define PERL_NAMES 28 /* of what there is more: how many names there are, not 0: in a list */
#define PERL_NAME 8 /* of a name: its letters */

/* What tells a subroutine from another one that was at the same address. */
static __always_inline u64 perl_identity(u64 subroutine, u64 file)
{
	u64 body = 0;

	if (subroutine > PERL_TEXT)
		body = user_word(subroutine);
	subroutine = mixed(mixed(subroutine, body), file);
	subroutine = mixed(subroutine, user_word(file));
	if (body)
		subroutine = mixed(subroutine, user_word(body + PERL_SUB_NAME));
	return subroutine;
}

/* The name of a package, which a table of symbols has beside them. */
static __always_inline u64 perl_package(struct ts_calls_work *s, struct ts_interpreter *p, u64 package)
{
	struct perl_value *v = (void *)s->words;
	u64 more, name;

	if (!package || bpf_probe_read_user(v, sizeof(*v), (void *)package) || !(v->flags & PERL_MORE))
		return 0;
	if (p->perl_package)
		more = v->body + p->perl_package;
	else
		more = v->points_at + 8 * (user_word(v->body + PERL_TABLE) + 1);
	name = user_word(more);
	return (u32)user_word(more + PERL_NAMES) ? user_word(name) : name;
}

static __always_inline void perl_names(struct ts_calls_work *s, struct ts_function *e, struct ts_interpreter *p)
{
	u64 subroutine = s->code, body, name, package;

	bpf_probe_read_user_str(e->file, sizeof(e->file), (void *)s->file);
	if (subroutine <= PERL_TEXT) {
		e->kind = subroutine;
		return;
	}
	body = user_word(subroutine);
	name = user_word(body + PERL_SUB_NAME);
	if ((u32)user_word(body + PERL_SUB_FLAGS) & PERL_NAMED) {
		package = user_word(body + PERL_SUB_PACKAGE);
	} else {
		body = user_word(name);
		name = user_word(body + PERL_SYMBOL_NAME);
		package = user_word(body + PERL_SYMBOL_PACKAGE);
	}
	bpf_probe_read_user_str(e->name, sizeof(e->name), (void *)name + PERL_NAME);
	package = perl_package(s, p, package);
	if (package)
		bpf_probe_read_user_str(e->owner, sizeof(e->owner), (void *)package + PERL_NAME);
}

#endif
