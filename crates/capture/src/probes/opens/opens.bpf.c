/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/*
 * Files as they are opened, while calls are not timed: a configuration that is opened, read and closed again within a
 * pause would not be known as one that the program used.
 */
SEC("kprobe/security_file_open")
int on_open(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ts_thread *st = thread_of(task);
	struct ts_identity id = {};
	struct file *file = (void *)ctx->di;

	if (st && !st->dead && identify_file(file, &id) && id.kind == TS_O_FILE)
		make_file_known(st, &id, (u64)file, false);
	return 0;
}
