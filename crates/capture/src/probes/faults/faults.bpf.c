/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/*
 * Which file a page fault reads from: the file whose page is put into the page cache in the course
 * of the fault, just before the thread waits for the disk. Faults without I/O are counted by the
 * kernel itself and cost nothing here.
 */

SEC("raw_tp/mm_filemap_add_to_page_cache")
int on_page_cache(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ts_thread *st = thread_of(task);
	struct folio *folio = (void *)ctx[0];
	struct inode *inode = NULL;
	struct pt_regs *regs;
	u8 compat;

	if (!st)
		return 0;
	regs = (void *)bpf_task_pt_regs(task);
	if (call_of(task, regs, &compat) >= 0)
		return 0;
	if (bpf_core_type_exists(struct folio))
		inode = BPF_CORE_READ(folio, mapping, host);
	else if (bpf_core_field_exists(((struct page *)0)->mapping))
		inode = BPF_CORE_READ((struct page *)folio, mapping, host);
	if (!inode)
		return 0;
	st->fault_key = key_of(BPF_CORE_READ(inode, i_ino), BPF_CORE_READ(inode, i_generation));
	st->fault_device = BPF_CORE_READ(inode, i_sb, s_dev);
	return 0;
}
