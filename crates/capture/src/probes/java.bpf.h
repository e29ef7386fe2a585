/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/*
 * The frames of Java's interpreter, and of that of Node.js. What they are called is for user space to find out; but
 * whichever methods it runs, its code and the registers are the same, so that one stack could be taken for another.
 * Therefore such a stack also has a mark of the methods in it and how far they are, as far as they are near its top.
 */
#ifndef TIMESINK_JAVA_H
#define TIMESINK_JAVA_H

/* Which processes are Java or Node.js, where the code of their interpreter is, and where its frames have the method. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, u32);
	__type(value, struct ts_java);
} javas SEC(".maps");

#define TS_JAVA_WORDS (TS_PAGE / 8) /* so much of the stack is looked at */
#define TS_JAVA_FRAME (1 << 16) /* no frame is larger */

struct ts_java_search {
	struct ts_stack *s;
	struct ts_java *j;
	u64 mark;
};

static __always_inline bool in_interpreter(struct ts_java *j, u64 address)
{
	return address - j->start < j->length || address - j->again < j->length;
}

/* An address to return to in the interpreter, with the frame pointer that its frame will have, before it. */
static long next_java(u64 index, struct ts_java_search *d)
{
	struct ts_stack *s = d->s;
	u64 at = s->sp + 8 * index, word, frame;

	if (index >= TS_JAVA_WORDS - 1)
		return 1;
	barrier_var(index);
	index &= TS_JAVA_WORDS - 1;
	word = ((u64 *)s->copy)[index + 1];
	if (!in_interpreter(d->j, word)) {
		/* Functions that were compiled may be alike, too. */
		if (word - d->j->made < d->j->made_length)
			d->mark = mixed(d->mark, word);
		return 0;
	}
	frame = ((u64 *)s->copy)[index];
	d->mark = mixed(d->mark, word);
	if (frame - at < TS_JAVA_FRAME) {
		d->mark = mixed(d->mark, user_word(frame - d->j->method));
		if (d->j->position)
			d->mark = mixed(d->mark, user_word(frame - d->j->position));
	}
	return 0;
}

/*
 * A mark of the methods in a stack, 0: it is of neither. Where the kernel has no loops, every stack
 * is taken for a new one. A global function, so that the verifier looks at it once.
 */
__attribute__((noinline)) u64 mark_of_java(u32 where)
{
	struct ts_stack *s = scratch_of(where);
	struct ts_java_search d = { .s = s, .mark = 1 };
	struct ts_java *j;
	u32 at, rest;

	if (!s)
		return 0;
	j = bpf_map_lookup_elem(&javas, &s->pid);
	if (!j)
		return 0;
	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop))
		return bpf_ktime_get_ns();
	d.j = j;
	if (in_interpreter(j, s->ip))
		d.mark = mixed(s->ip, user_word(s->bp - j->method));
	at = TS_PAGE - (s->sp & (TS_PAGE - 1));
	/* The next page may not be there. What could not be read is zero. */
	barrier_var(at);
	at &= 2 * TS_PAGE - 1;
	if (!at || at > TS_PAGE)
		return 0;
	bpf_probe_read_user(s->copy, at, (void *)s->sp);
	rest = TS_PAGE - at;
	barrier_var(rest);
	rest &= TS_PAGE - 1;
	if (rest)
		bpf_probe_read_user(s->copy + at, rest, (void *)s->sp + at);
	/* A piece of the interpreter without a frame of its own, such as what executes one bytecode, has its caller's still. */
	if (in_interpreter(j, *(u64 *)s->copy))
		d.mark = mixed(d.mark, user_word(s->bp - j->method));
	bpf_loop(TS_JAVA_WORDS - 1, next_java, &d, 0);
	return d.mark | 1;
}

#endif
