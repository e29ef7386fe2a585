/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/*
 * From where a call is made: a thread counts its calls by kind, object and error, and the 1st, 2nd, 4th, 8th, ... of each
 * has its stack taken. What a call on many different objects would cost is bounded by a credit, which its calls earn:
 * the first few of each are the first to be left out, for what happens once matters least. What happens once on each of many
 * objects (a socket for each question, a file for each item) matters all the same: of the first ones on objects the 1st, 2nd,
 * 4th, 8th, ... count like those on one.
 */
#ifndef TIMESINK_SITES_H
#define TIMESINK_SITES_H

#define TS_SITE_EARNED 64 /* calls by which one stack is earned */
#define TS_SITE_FIRST (8 * TS_SITE_EARNED) /* what a thread begins with */
#define TS_SITE_MOST (32 * TS_SITE_EARNED)
/*
 * The first calls of a process are not looked at: a program's loader makes them. /bin/true makes 45, and 500 of it took 1.5 %
 * longer than without all this, 0.8 % with this limit. So few calls take no time that matters, or are waits, which have stacks.
 */
#define TS_SITE_START_UP 64
#define TS_SITE_FREE 16 /* from so many on a stack is taken whatever the credit: it is one of as many calls */
/*
 * After a wait so long, that no thing ended, what the thread does next says what it waited for: the stacks of so many calls are
 * taken. A hundred a second at most, of 2 us each: under 0.1 % of a processor.
 */
#define TS_SITE_SLEPT_NS 10000000
#define TS_SITE_AFTER 4

static __always_inline bool counts_sites(struct ts_thread *st, struct task_struct *task)
{
	return st->calls > TS_SITE_START_UP || task->pid != task->tgid;
}

/* Tells paths apart: their length and last letters. */
static __noinline u32 mark_of_path(u64 address, u32 length)
{
	u64 last[2] = {};

	if (length >= sizeof(last))
		bpf_probe_read_user(last, sizeof(last), (void *)(address + length - sizeof(last)));
	else
		bpf_probe_read_user_str(last, sizeof(last), (void *)address);
	return (mixed(mixed(last[0], last[1]), length) >> 32) | 1;
}

/* What must be there for the stack of an occurrence to be taken. */
static __always_inline u32 credit_for(u32 occurrence)
{
	if (occurrence >= TS_SITE_FREE)
		return 0;
	if (occurrence >= 8)
		return TS_SITE_EARNED;
	if (occurrence >= 4)
		return 8 * TS_SITE_EARNED;
	return (occurrence >= 2 ? 16 : 24) * TS_SITE_EARNED;
}

/* How many of these the thread has made, with this one, as far as it remembers. */
static __always_inline u32 count_of(struct ts_thread *st, u64 mark)
{
	u32 set = (mark >> 24) * TS_WAYS, i;
	u64 counted = mark >> 32 << 32;

	set &= TS_SITES - 1;
	barrier_var(set);
	if (set > TS_SITES - TS_WAYS)
		return 0;
#pragma unroll
	for (i = 0; i < TS_WAYS; i++)
		if (st->sites[set + i] >> 32 == mark >> 32)
			return (u32)++st->sites[set + i];
	/* The others move up. */
#pragma unroll
	for (i = TS_WAYS - 1; i > 0; i--)
		st->sites[set + i] = st->sites[set + i - 1];
	st->sites[set] = counted | 1;
	return 1;
}

/* On how many objects the thread has made such a call, with this one. Calls that share a place are looked at less often. */
static __always_inline u32 count_new(struct ts_thread *st, u32 call, u32 kind, s32 error)
{
	return ++st->new_sites[(call ^ (kind << 2) ^ (error << 3)) & (TS_NEW_SITES - 1)];
}

static __always_inline bool is_due(u32 occurrence, u32 credit)
{
	return occurrence && !(occurrence & (occurrence - 1)) && credit >= credit_for(occurrence);
}

/* Whether a wait of so long in a call is over because its time is. */
static __always_inline bool has_slept(s64 result, u64 ns)
{
	const s64 timed_out = -110;

	return ns >= TS_SITE_SLEPT_NS && (!result || result == timed_out);
}

/* Notes a call that has returned; where its stack is to be taken, tells of it, and leaves the moment in `site_t`. */
__attribute__((noinline)) int count_site(struct ts_thread *st, u32 call_and_compat, s64 result, u64 now)
{
	s32 error = result < 0 && result >= -4095 ? -result : 0;
	struct ts_identity *called;
	u32 occurrence, credit;
	struct ts_site *e;
	u64 mark;

	if (!st)
		return 0;
	called = &st->called;
	credit = st->site_credit;
	mark = called->key ^ ((u64)called->device << 40) ^ st->path_mark;
	mark = mixed(mixed(mark, call_and_compat), error);
	occurrence = count_of(st, mark);
	if (credit < TS_SITE_MOST)
		st->site_credit = ++credit;
	if (st->sites_due)
		st->sites_due--;
	else if (!is_due(occurrence, credit) &&
		 (occurrence != 1 || !is_due(count_new(st, call_and_compat, called->kind, error), credit)))
		return 0;
	e = RESERVE(struct ts_site, TS_SITE);
	if (!e)
		return 0;
	st->site_credit = credit > TS_SITE_EARNED ? credit - TS_SITE_EARNED : 0;
	head(&e->head, TS_SITE, st->id, now);
	e->key = called->key;
	e->device = called->device;
	e->occurrence = occurrence;
	e->error = error;
	e->call = call_and_compat;
	e->object_kind = called->kind;
	e->compat = call_and_compat >> 16;
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	st->site_t = now;
	return 0;
}

#endif
