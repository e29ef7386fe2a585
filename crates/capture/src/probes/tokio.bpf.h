/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/*
 * Tasks of tokio: which one a thread polls it keeps in a word of its own memory, as a number; 0: none.
 */
#ifndef TIMESINK_TOKIO_H
#define TIMESINK_TOKIO_H

/* Whether a thread is at work for one of tokio's: those of others have an address. */
static __always_inline bool polls_future(struct ts_thread *st)
{
	return st->task && !st->task_at;
}

/*
 * Notes which task of tokio the current thread is at work for at `now` and has been since `since`; tells of it where that is another
 * than before. A thread that has never polled one is none of tokio's. A global function: the verifier looks at it once.
 */
__attribute__((noinline)) int note_tokio(struct ts_thread *st, s64 word, u32 tagged, u64 since, u64 now)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	u64 number = 0, tag = 1, at;
	struct ts_task *e;
	u32 i;

	if (!st)
		return 0;
	at = BPF_CORE_READ(task, thread.fsbase) + word;
	if (bpf_probe_read_user(&number, sizeof(number), (void *)at))
		return 0;
	if (tagged && bpf_probe_read_user(&tag, sizeof(tag), (void *)at - 8))
		return 0;
	if (tag != 1)
		number = 0;
	if (number == st->task && (st->task_seen || !number)) {
		if (st->task_seen)
			st->task_seen = now;
		return 0;
	}
	e = RESERVE(struct ts_task, TS_TASK);
	if (!e)
		return 0;
	begin_task(e, st, TS_OF_TOKIO, bpf_get_current_pid_tgid() >> 32, number, since);
	e->name[0] = 0;
	e->left_state = 0;
	for (i = 0; i < TS_LEFT_FRAMES; i++)
		e->left[i] = 0;
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	st->task = number;
	st->task_seen = now;
	return 0;
}

#endif
