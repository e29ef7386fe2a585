/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/* Where the processor is, some hundred times a second, and who called that. */

SEC("perf_event")
int on_sample(struct bpf_perf_event_data_x86 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ts_thread *st = thread_of(task);
	u64 cs = ctx->regs.cs, ip = ctx->regs.ip, sp = ctx->regs.sp, bp = ctx->regs.bp, bx = ctx->regs.bx;
	u64 r14 = ctx->regs.r14, r15 = ctx->regs.r15;
	bool user = (cs & 3) != 0;
	struct ts_gathered *g = gathered_here();
	u64 now = bpf_ktime_get_ns();
	struct ts_control *c = get_control();
	struct ts_stack *s;
	long bytes;

	/* A processor that has come to rest hands over what it has gathered. */
	if (g && !g->busy && g->event.count && now - g->since > TS_GATHERED_LONG && now > g->since)
		hand_over(g);
	if (!st || st->dead)
		return 0;
	if (user)
		st->samples_user++;
	else
		st->samples_kernel++;
	/* In the kernel the registers are not Go's. */
	if (c && c->tasks && !note_goroutine(st, TS_IN_SAMPLE, user ? r14 : 0, now, now))
		note_coroutine(st, TS_IN_SAMPLE, now, now);
	if (c && c->tags)
		note_tag(st, now, now);
	s = new_stack(TS_IN_SAMPLE, st, task, TS_OF_SAMPLE, st->id, now);
	if (!s)
		return 0;
	if (user)
		s->user |= TS_HIT_USER;
	if (user) {
		s->ip = ip;
		s->sp = sp;
		s->bp = bp;
		s->di = 0;
		s->bx = bx;
		s->r14 = r14;
		s->r15 = r15;
	} else {
		bytes = bpf_get_stack(ctx, s->frame, sizeof(s->frame), 0);
		s->frames = bytes > 0 ? (u32)bytes / 8 : 0;
		if (plain(task)->mm)
			user_registers(s, registers_of(st, task));
	}
	send_stack(TS_IN_SAMPLE);
	note_stack_taken(st, TS_CALLS_SAMPLES_NS, now);
	return 0;
}
