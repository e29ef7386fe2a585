/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/* Block requests from the moment they are handed to the device until it has done them. */

struct ts_issued {
	u64 t;
	u32 thread;
	u32 tid;
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, u64);
	__type(value, struct ts_issued);
} issued SEC(".maps");

SEC("raw_tp/block_rq_issue")
int on_issue(u64 *ctx)
{
	u64 request = ctx[0];
	struct task_struct *task = bpf_get_current_task_btf();
	struct ts_thread *st = thread_of(task);
	struct ts_issued is = {
		.t = bpf_ktime_get_ns(),
		.thread = st ? st->id : 0,
		.tid = task->pid,
	};

	bpf_map_update_elem(&issued, &request, &is, BPF_ANY);
	return 0;
}

SEC("raw_tp/block_rq_complete")
int on_complete(u64 *ctx)
{
	struct request *rq = (void *)ctx[0];
	u64 request = ctx[0];
	u32 zero = 0, bytes = ctx[2];
	struct ts_control *c = get_control();
	struct ts_interrupt *in = bpf_map_lookup_elem(&interrupt, &zero);
	struct ts_issued *is;
	struct ts_request *e;

	/* Completed by an interrupt, not by a thread that polled for it. */
	if (in && (in->handler || in->softirq))
		in->block = 1;
	is = bpf_map_lookup_elem(&issued, &request);
	if (!is || !c || c->stopped)
		return 0;
	e = RESERVE(struct ts_request, TS_REQUEST);
	if (e) {
		head(&e->head, TS_REQUEST, is->thread, bpf_ktime_get_ns());
		e->issued = is->t;
		e->sector = BPF_CORE_READ(rq, __sector);
		e->device = BPF_CORE_READ(rq, part, bd_dev);
		e->bytes = bytes;
		e->flags = BPF_CORE_READ(rq, cmd_flags);
		e->tid = is->tid;
		bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	}
	bpf_map_delete_elem(&issued, &request);
	return 0;
}
