/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/* Which task the current thread is at work for, of whichever runtime. */
#ifndef TIMESINK_TASKS_H
#define TIMESINK_TASKS_H

/* At `now`, and since `since`: of a thread that is in the kernel. A global function: the verifier looks at it once. */
__attribute__((noinline)) int note_task(struct ts_thread *st, u32 where, u64 since, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs;
	u32 round;

	if (!st)
		return 0;
	regs = registers_of(st, task);
	if (note_goroutine(st, where, regs->r14, since, now) || !note_coroutine(st, where, since, now))
		return 0;
	for (round = 0; round < TS_AGAIN; round++)
		if (!look_at_next_left(st, where, now, round))
			break;
	for (round = 0; round < TS_FOUND; round++)
		if (!find_left(st, where, now))
			break;
	return 0;
}

/*
 * The same, of the current thread as it leaves the processor: in a call it has been at work for the task since that began. Where the
 * scheduler has not read its clock anew since the thread came, it left before that, and its wait is to be the task's all the same.
 */
static __always_inline void note_task_of(struct ts_thread *st, struct ts_control *c, u64 now)
{
	bool in_call = st->call_since && st->call_epoch == c->call_epoch;

	note_task(st, TS_IN_SWITCH, in_call && st->call_since < now ? st->call_since : now, now);
}

#endif
