/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/*
 * The calls of PHP. Its engine lists them from the innermost outwards; each has its function, and which operation of
 * that is executed, whose line the compiler has noted there. One that the engine is at work in keeps both in registers, and
 * writes the operation down only before it calls something.
 */
#ifndef TIMESINK_PHP_H
#define TIMESINK_PHP_H

/* As PHP lays out a call since 7.4. */
struct php_call {
	u64 operation, call, result, function, this;
	u32 information, arguments;
	u64 previous;
};
#define PHP_OUTERMOST (1 << 17) /* in a call's information: it was called by C, and has an engine of its own */
#define PHP_INTERNAL 1 /* a function that C implements */
#define PHP_OPERATION 32 /* an operation's size */
#define PHP_LINE 24 /* of an operation: its line */
#define PHP_CLASS_NAME 8 /* of a class: its name */
#define PHP_TEXT 24 /* of a text: what it says */

/* The line of an operation, 0: it is none of this function. */
static __always_inline u32 php_line(struct ts_interpreter *p, u64 function, u64 operation)
{
	u64 first = user_word(function + p->php_operations);
	u32 count = user_word(function + p->php_operation_count);

	return operation - first < (u64)count * PHP_OPERATION ? user_word(operation + PHP_LINE) : 0;
}


static long next_php(u64 index, struct ts_calls_walk *w)
{
	struct ts_calls_work *s = w->work;
	struct php_call *c = (void *)s->words;
	u64 at = s->at;
	u32 line = 0;

	if (!at || bpf_probe_read_user(c, sizeof(*c), (void *)at))
		return 1;
	s->at = c->previous;
	/* The engine puts in calls without a function, for its own use. */
	if (!c->function)
		return 0;
	if ((u8)user_word(c->function) == PHP_INTERNAL)
		return add_frame(w, c->function, 0, 0, false);
	if (!s->count && at == w->r14)
		line = php_line(w->p, c->function, w->r15);
	if (!line)
		line = php_line(w->p, c->function, c->operation);
	return add_frame(w, c->function, 0, line, c->information & PHP_OUTERMOST);
}

/* What a function begins with, and what a text does behind its count of references. */
struct php_function {
	u64 kind, name, class;
};
struct php_text {
	u64 hash, length, text;
};

/* What tells a function from another one that was at the same address. */
static __always_inline u64 php_identity(struct ts_calls_work *w, struct ts_interpreter *p, u64 function)
{
	struct php_function *f = (void *)w->words;
	struct php_text *name = (void *)(f + 1);
	u64 *file_and_lines = (void *)(name + 1);

	__builtin_memset(w->words, 0, sizeof(w->words));
	bpf_probe_read_user(f, sizeof(*f), (void *)function);
	bpf_probe_read_user(name, sizeof(*name), (void *)f->name + 8);
	bpf_probe_read_user(file_and_lines, 16, (void *)function + p->php_file);
	function = mixed(mixed(function, f->name), f->class);
	function = mixed(mixed(function, name->length), name->text);
	return mixed(mixed(function, file_and_lines[0]), file_and_lines[1]);
}

static __always_inline void php_names(struct ts_calls_work *w, struct ts_function *e, struct ts_interpreter *p, u64 function)
{
	struct php_function *f = (void *)w->words;

	if (bpf_probe_read_user(f, sizeof(*f), (void *)function))
		return;
	bpf_probe_read_user_str(e->name, sizeof(e->name), (void *)f->name + PHP_TEXT);
	if (f->class)
		bpf_probe_read_user_str(e->owner, sizeof(e->owner),
					(void *)user_word(f->class + PHP_CLASS_NAME) + PHP_TEXT);
	if ((u8)f->kind != PHP_INTERNAL)
		bpf_probe_read_user_str(e->file, sizeof(e->file),
					(void *)user_word(function + p->php_file) + PHP_TEXT);
}

#endif
