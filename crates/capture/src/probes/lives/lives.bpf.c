/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/*
 * Births, changes and deaths: which threads are tracked. The first ones are seeded by an iterator
 * over all tasks, children inherit at fork, and a second iterator closes those still alive at the
 * end. The very last moment of a thread is its last switch, in the scheduling probe. Processes that come in
 * later are the follow probe's.
 */

#define CLONE_VFORK 0x00004000

static __always_inline bool is_vfork(struct task_struct *parent)
{
	struct pt_regs *regs = (void *)bpf_task_pt_regs(parent);
	u8 compat;
	s16 call = call_of(parent, regs, &compat);
	u64 flags = 0;

	if (compat)
		return false;
	switch (call) {
	case 58: /* vfork */
		return true;
	case 56: /* clone */
		return regs->di & CLONE_VFORK;
	case 435: /* clone3: the flags come first in its structure */
		bpf_probe_read_user(&flags, sizeof(flags), (void *)regs->di);
		return flags & CLONE_VFORK;
	}
	return false;
}

SEC("tp_btf/sched_process_fork")
int on_fork(u64 *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];
	struct ts_control *c = get_control();
	struct ts_thread *of, *st;
	u64 now, since = 0;
	u32 how;

	if (!c || c->stopped)
		return 0;
	of = thread_of(parent);
	/* Dead may also be one that the end of the recording has closed. */
	if (!of || of->dead)
		return 0;
	now = bpf_ktime_get_ns();
	st = track(child, now, false);
	if (!st)
		return 0;
	/* The kernel's sums of a child start at what copying its parent's structure left there. */
	set_bases(st, child);
	begin_stack(st, child, of, parent);
	st->followed = of->followed;
	st->state = TS_READY;
	st->how = TS_FIRST;
	if (child->tgid == parent->tgid)
		how = TS_START_THREAD;
	else
		how = is_vfork(parent) ? TS_START_VFORK : TS_START_FORK;
	if (of->call_epoch == c->call_epoch)
		since = of->call_since;
	inherit_python(parent->tgid, child->tgid);
	inherit_bash(parent->tgid, child->tgid);
	inherit_tags(parent->tgid, child->tgid);
	inherit_interpreter(parent->tgid, child->tgid);
	tell_start(st, child, how, of->id, since, resident_bytes(plain(parent)->mm), now);
	return 0;
}

/* Few processes are in any of these maps. To find that out takes less than to remove what is not there, which locks a part of the map. */
#define FORGET(map, pid)                                                                           \
	({                                                                                         \
		if (bpf_map_lookup_elem(&map, &pid))                                               \
			bpf_map_delete_elem(&map, &pid);                                           \
	})

SEC("raw_tp/sched_process_exec")
int on_exec(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 old_tid = ctx[1];
	struct linux_binprm *binary = (void *)ctx[2];
	struct ts_control *c = get_control();
	struct ts_thread *st = thread_of(task);
	struct mm_struct *mm;
	struct ts_exec *e;
	u64 from, length;
	u32 pid;

	if (!st || !c || c->stopped)
		return 0;
	st->tid = task->pid;
	/* Its stacks are others from now on. */
	__builtin_memset(st->stacks, 0, sizeof(st->stacks));
	st->stack_end = 0;
	st->python = 0;
	st->no_python = 0;
	pid = task->tgid;
	FORGET(pythons, pid);
	FORGET(javas, pid);
	FORGET(bashes, pid);
	FORGET(interpreters, pid);
	FORGET(gos, pid);
	st->task_seen = 0;
	__builtin_memset(&st->go, 0, sizeof(st->go));
	st->go_thread = 0;
	st->go_scheduler = 0;
	FORGET(tagged, pid);
	st->tag = 0;
	st->tag_seen = 0;
	st->labels_only = 0;
	__builtin_memset(st->tags, 0, sizeof(st->tags));
	e = RESERVE(struct ts_exec, TS_EXEC);
	if (!e)
		return 0;
	head(&e->head, TS_EXEC, st->id, bpf_ktime_get_ns());
	e->call_since = st->call_epoch == c->call_epoch ? st->call_since : 0;
	mm = plain(task)->mm;
	e->resident = resident_bytes(mm);
	e->tid = task->pid;
	e->old_tid = old_tid;
	e->uid = plain(task)->cred->uid.val;
	e->arguments_length = 0;
	bpf_probe_read_kernel(e->name, sizeof(e->name), task->comm);
	e->executable[0] = 0;
	bpf_probe_read_kernel_str(e->executable, sizeof(e->executable), BPF_CORE_READ(binary, filename));
	if (mm) {
		from = mm->arg_start;
		length = mm->arg_end - from;
		if (length > TS_ARGUMENTS)
			length = TS_ARGUMENTS;
		if (!bpf_probe_read_user(e->arguments, length, (void *)from))
			e->arguments_length = length;
	}
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int on_exit(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ts_control *c = get_control();
	struct ts_thread *st = thread_of(task);
	struct ts_exit *e;

	if (!st || !c || c->stopped)
		return 0;
	/* Not in `how`: what it did before it ran again may not have been told yet (see untold). */
	st->exiting = 1;
	e = RESERVE(struct ts_exit, TS_EXIT);
	if (!e)
		return 0;
	head(&e->head, TS_EXIT, st->id, bpf_ktime_get_ns());
	e->resident = resident_bytes(plain(task)->mm);
	e->code = task->exit_code;
	e->last = 0;
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	return 0;
}

/*
 * Since when a thread is queued that has no processor yet; 0 if it is not, or that is not known. Another processor's clock is about as far
 * from ours.
 */
static __always_inline u64 queued_since(struct task_struct *task)
{
	u32 zero = 0;
	struct ts_history *h = bpf_map_lookup_elem(&history, &zero);

	if (!h || !h->seen || !has_queue_time() || !task->sched_info.last_queued)
		return 0;
	return task->sched_info.last_queued + h->least;
}

/* How long a thread has been queued that has no processor yet: the kernel adds it to the delay only when it gets one. */
static __always_inline u64 still_queued(struct ts_thread *st, struct task_struct *task, u64 now)
{
	u64 at = st->state == TS_CPU ? 0 : queued_since(task), from = st->t_out;

	if (!at)
		return 0;
	/* What it waited before it was recorded is not in the books: left out here, or when it was met, if it still waits for that.
	 * The base of who was moved between processors may be below nothing. */
	if ((s64)(st->delay_base - st->delay_at_out) > 0)
		from -= st->delay_base - st->delay_at_out;
	if (at < from)
		at = from;
	return now > at ? now - at : 0;
}

SEC("iter/task")
int seed(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct ts_thread *st;
	u32 tgid, *followed;
	u64 now, queued;

	if (!task)
		return 0;
	tgid = task->tgid;
	followed = bpf_map_lookup_elem(&seeds, &tgid);
	if (!followed)
		return 0;
	/* One that has ended meanwhile, or that the fork probe or the follow probe has seen. */
	if (task->exit_state || thread_of(task) || track_met(task))
		return 0;
	now = bpf_ktime_get_ns();
	st = track(task, now, false);
	if (!st)
		return 0;
	set_bases(st, task);
	/* What it waited for a processor so far will be in the kernel's sum once it gets one, and is not in the books. */
	queued = queued_since(task);
	if (queued && queued < now)
		st->delay_base += now - queued;
	st->followed = *followed;
	if (!task->on_cpu && task->__state != TASK_RUNNING)
		note_call(st, task, registers_of(st, task));
	tell_start(st, task, TS_START_SEED, 0, 0, 0, now);
	set_state(st, task);
	return 0;
}

/* Close a thread that outlives the recording: what it is doing lasts until now. */
SEC("iter/task")
int finish(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct ts_identity id = {};
	struct ts_control *c = get_control();
	struct ts_thread *st;
	struct ts_history *h;
	struct ts_turn *e;
	u64 now, wake = 0;
	u32 zero = 0;

	if (!task || !c)
		return 0;
	st = thread_of(task);
	if (!st || st->dead || !st->state)
		return 0;
	now = bpf_ktime_get_ns();
	/* Its last turn may have begun at once; this one does not begin. How it came to run has been told. */
	st->dispatched = 0;
	if (st->state == TS_CPU)
		st->how = 0;
	st->how |= TS_OPEN_END;
	if (st->state == TS_CPU) {
		st->cpu_ns += now - st->t_run - st->run_tracer_ns;
		st->tracer_ns += st->run_tracer_ns;
		st->t_out = now;
	} else if (st->state == TS_BLOCKED) {
		/* Woken already, if it is queued. Another processor's clock is about as far from ours as this one's. */
		h = bpf_map_lookup_elem(&history, &zero);
		wake = h && task->__state == TASK_RUNNING ? queued_at(st, task, h, now) : now;
		st->wait_ns += wake - st->t_out;
		st->ready_ns += now - wake;
		find_object(st, task, &id);
	} else {
		st->ready_ns += now - st->t_out;
	}
	e = RESERVE(struct ts_turn, TS_TURN);
	if (e) {
		fill_turn(e, st, &id, TS_TURN, wake, now);
		on_its_processor(&e->head, task);
		bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	}
	st->delay_base -= still_queued(st, task, now);
	end_thread(st, task, now, true);
	st->dead = 1;
	__sync_fetch_and_add(&c->alive, -1);
	return 0;
}
