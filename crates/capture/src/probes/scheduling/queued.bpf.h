/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/* Since when a thread that gets a processor has been queued for it, as the kernel has it and as we do. */
#ifndef TIMESINK_QUEUED_H
#define TIMESINK_QUEUED_H

/*
 * When a thread that is about to run was queued for a processor: here its wait ended. (On a processor
 * that had to be told by an interrupt this is later than the waker's call, and only now does it count
 * as ready.) If it was moved between processors since, the kernel has started its time anew and has
 * added the time before to the thread's delay.
 */
static __always_inline u64 queued_at(struct ts_thread *st, struct task_struct *task, struct ts_history *h, u64 now)
{
	u64 at, delay;

	if (!has_queue_time())
		return st->t_wake > st->t_out ? st->t_wake : st->t_out;
	at = task->sched_info.last_queued;
	delay = task->sched_info.run_delay - st->delay_at_out;
	if (at)
		at = at + h->least - delay;
	else
		/* A switch that we were not told of: all its delay has been added up already. */
		at = now - delay;
	if (at < st->t_out)
		return st->t_out;
	return at > now ? now : at;
}

/*
 * Where a wake-up makes a processor leave what it does at once (or leave its idling), the kernel
 * does not look at the clock again before the switch: the thread counts as running from the moment
 * it was queued. We measure that stretch by our own clock, but call it what the kernel calls it, time
 * on a processor, or the books could not be compared. It shows as 'switching in'.
 */
static __always_inline bool was_dispatched(struct ts_thread *st, struct task_struct *task, struct ts_history *h)
{
	return task->sched_info.last_queued == h->clock &&
	       /* Not moved here after queueing elsewhere. */
	       task->sched_info.run_delay == st->delay_at_out;
}

/*
 * For how long a preempted thread was ready and the kernel's sum of that leaves it out:
 * - While the kernel moved it to another processor. (35 us a move on 7.3 in an emulator: the sums of a program were 2.4 % apart, and
 *   with this 0.004 %.)
 * - Until it is moved or runs again, if it lost the processor after it had said that it would block. (6.3 ms of 88 ms at once, there.)
 */
static __always_inline u64 not_counted(struct ts_thread *st, struct task_struct *task, struct ts_history *h, u64 ready_ns)
{
	u64 counted = task->sched_info.run_delay - st->delay_at_out;

	if (!has_queue_time() || !h->clock_task)
		return 0;
	if (!st->unqueued && (!counted || !task->sched_info.last_queued))
		return 0;
	if (task->sched_info.last_queued)
		counted += h->clock - task->sched_info.last_queued;
	return ready_ns > counted ? ready_ns - counted : 0;
}

#endif
