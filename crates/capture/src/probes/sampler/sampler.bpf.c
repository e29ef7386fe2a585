/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/* Where the processor is, some hundred times a second: in the kernel or in user space, and where. */

SEC("perf_event")
int on_sample(struct bpf_perf_event_data_x86 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ts_thread *st = thread_of(task);
	struct ts_sample *e;
	u64 cs = ctx->regs.cs, ip = ctx->regs.ip;
	bool user = (cs & 3) != 0;
	struct ts_gathered *g = gathered_here();
	u64 now = bpf_ktime_get_ns();

	/* A processor that has come to rest hands over what it has gathered. */
	if (g && !g->busy && g->event.count && now - g->since > TS_GATHERED_LONG && now > g->since)
		hand_over(g);
	if (!st || st->dead)
		return 0;
	if (user)
		st->samples_user++;
	else
		st->samples_kernel++;
	e = RESERVE(struct ts_sample, TS_SAMPLE);
	if (!e)
		return 0;
	head(&e->head, TS_SAMPLE, st->id, now);
	e->address = ip;
	e->kernel = !user;
	e->pad = 0;
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	return 0;
}
