/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/*
 * What kind of interrupt work a processor is doing, so that a wake-up from an interrupt is put down
 * to a timer, a disk or the network and not to the thread that happened to be interrupted.
 */

static __always_inline struct ts_interrupt *here(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&interrupt, &zero);
}

SEC("raw_tp/softirq_entry")
int on_softirq(u64 *ctx)
{
	struct ts_interrupt *in = here();

	if (in) {
		in->softirq = (u32)ctx[0] + 1;
		in->block = 0;
	}
	return 0;
}

SEC("raw_tp/softirq_exit")
int on_softirq_done(u64 *ctx)
{
	struct ts_interrupt *in = here();

	if (in) {
		in->softirq = 0;
		in->block = 0;
	}
	return 0;
}

SEC("raw_tp/irq_handler_entry")
int on_handler(u64 *ctx)
{
	struct ts_interrupt *in = here();

	if (in) {
		in->handler = 1;
		in->block = 0;
	}
	return 0;
}

SEC("raw_tp/irq_handler_exit")
int on_handler_done(u64 *ctx)
{
	struct ts_interrupt *in = here();

	if (in) {
		in->handler = 0;
		in->block = 0;
	}
	return 0;
}

SEC("raw_tp/hrtimer_expire_entry")
int on_timer(u64 *ctx)
{
	struct ts_interrupt *in = here();

	if (in)
		in->timer = 1;
	return 0;
}

SEC("raw_tp/hrtimer_expire_exit")
int on_timer_done(u64 *ctx)
{
	struct ts_interrupt *in = here();

	if (in)
		in->timer = 0;
	return 0;
}
