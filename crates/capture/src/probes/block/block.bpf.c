/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/*
 * Block requests from the moment they are handed to the device until it has done them. The kernel uses the same few requests
 * again and again, so each keeps its place in the map, and is looked for there twice: making a place and removing it cost twice
 * as much as all else.
 */

struct ts_issued {
	u64 t; /* 0: it is done */
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
	struct ts_issued *known = bpf_map_lookup_elem(&issued, &request);
	struct ts_issued is = {
		.t = bpf_ktime_get_ns(),
		.thread = st ? st->id : 0,
		.tid = task->pid,
	};

	if (known)
		*known = is;
	else
		bpf_map_update_elem(&issued, &request, &is, BPF_ANY);
	return 0;
}

static __always_inline void describe_directly(struct ts_request *e, u64 request)
{
	struct request *rq = AS(request, (void *)request);
	struct block_device *part = rq->part;

	e->sector = rq->__sector;
	e->flags = rq->cmd_flags;
	e->device = part ? part->bd_dev : 0;
}

static __always_inline void describe_by_reading(struct ts_request *e, u64 request)
{
	struct request *rq = (void *)request;

	e->sector = BPF_CORE_READ(rq, __sector);
	e->flags = BPF_CORE_READ(rq, cmd_flags);
	e->device = BPF_CORE_READ(rq, part, bd_dev);
}

SEC("raw_tp/block_rq_complete")
int on_complete(u64 *ctx)
{
	u64 request = ctx[0];
	u32 zero = 0, bytes = ctx[2];
	struct ts_control *c = get_control();
	struct ts_interrupt *in = bpf_map_lookup_elem(&interrupt, &zero);
	struct ts_issued *is;
	struct ts_request *e;

	/* Completed by an interrupt, not by a thread that polled for it. */
	if (in && (in->handler || softirq_here(in)))
		in->block = 1;
	is = bpf_map_lookup_elem(&issued, &request);
	if (!is || !is->t || !c || c->stopped)
		return 0;
	e = RESERVE(struct ts_request, TS_REQUEST);
	if (e) {
		head(&e->head, TS_REQUEST, is->thread, bpf_ktime_get_ns());
		e->issued = is->t;
		e->bytes = bytes;
		e->tid = is->tid;
		if (bpf_ksym_exists(bpf_rdonly_cast))
			describe_directly(e, request);
		else
			describe_by_reading(e, request);
		bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	}
	is->t = 0;
	return 0;
}
