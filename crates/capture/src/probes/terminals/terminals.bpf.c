/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/*
 * What one side writes to a terminal, a worker of the kernel takes to the other side, and so it is the worker that
 * wakes the reader. These programs follow the work from who gave it to the worker. The maps are in
 * scheduling.bpf.c, which asks them. Other work is left alone: what it ends nobody need have wanted.
 */

/* Where the work begins by which what is written to a terminal comes to who reads it. */
static u64 terminal_work;

/*
 * Finds it. User space runs this before the others are attached, and says where it is if the kernel has no way to be
 * asked (before 5.16). As a symbol of the object it would have libbpf read the whole table of the kernel's names.
 */
SEC("syscall")
int find_work(struct ts_symbol *ask)
{
	static const char name[] = "flush_to_ldisc";
	u64 address = ask->address;

	if (!address && bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_kallsyms_lookup_name))
		bpf_kallsyms_lookup_name(name, sizeof(name), 0, &address);
	ask->address = terminal_work = address;
	return 0;
}

static __always_inline bool is_for_terminal(u64 function)
{
	return function == terminal_work;
}

SEC("raw_tp/workqueue_queue_work")
int on_work(u64 *ctx)
{
	struct work_struct *work = (void *)ctx[2];
	u64 address = ctx[2];
	struct task_struct *current;
	struct ts_giver giver = {};
	struct ts_thread *st;

	if (!is_for_terminal((u64)BPF_CORE_READ(work, func)))
		return 0;
	current = bpf_get_current_task_btf();
	st = thread_of(current);
	if (!st || st->dead || wake_context() != TS_WAKE_TASK) {
		/* Somebody else writes to it now. */
		bpf_map_delete_elem(&works, &address);
		return 0;
	}
	giver.tid = current->pid;
	read_name(giver.name, current);
	bpf_map_update_elem(&works, &address, &giver, BPF_ANY);
	return 0;
}

SEC("raw_tp/workqueue_execute_start")
int on_work_begun(u64 *ctx)
{
	struct work_struct *work = (void *)ctx[0];
	u64 address = ctx[0];
	struct ts_giver *giver;
	u32 worker;

	if (!is_for_terminal((u64)BPF_CORE_READ(work, func)))
		return 0;
	giver = bpf_map_lookup_elem(&works, &address);
	if (!giver)
		return 0;
	worker = bpf_get_current_task_btf()->pid;
	bpf_map_update_elem(&workers, &worker, giver, BPF_ANY);
	return 0;
}

SEC("raw_tp/workqueue_execute_end")
int on_work_done(u64 *ctx)
{
	u32 worker;

	if (!is_for_terminal(ctx[1]))
		return 0;
	worker = bpf_get_current_task_btf()->pid;
	bpf_map_delete_elem(&workers, &worker);
	return 0;
}
