/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/*
 * System calls, each timed from entry to return. Calls are put into a batch in the thread's own
 * state and handed over TS_BATCH at a time: that is cheaper than any map. User space attaches and detaches
 * these two programs to keep their cost within the budget; an epoch tells a return whose entry was
 * seen from one whose entry was not.
 */

/*
 * The steps of a call's return are global functions, which the verifier looks at once each. It would follow each way through
 * one step into the next otherwise, and what is loaded again for each recording would take five times as long. What a step finds
 * out lies in the thread's state: of that the verifier knows nothing, so that all ways are the same to it.
 */
__attribute__((noinline)) int send_path(struct ts_thread *st, u64 address, u32 call_and_compat, s64 result, u64 now)
{
	struct ts_lookup *e;
	long length;

	if (!st)
		return 0;
	e = RESERVE(struct ts_lookup, TS_LOOKUP);
	if (!e)
		return 0;
	head(&e->head, TS_LOOKUP, st->id, now);
	e->result = result;
	e->call = call_and_compat;
	e->compat = call_and_compat >> 16;
	e->pad = 0;
	e->pad2 = 0;
	length = bpf_probe_read_user_str(e->path, sizeof(e->path), (void *)address);
	e->length = length > 0 ? length - 1 : 0;
	if (counts_sites(st, bpf_get_current_task_btf()))
		st->path_mark = mark_of_path(address, e->length);
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	return 0;
}

/* Which descriptor a poll found ready: the first with events. */
static __noinline s32 ready_in_poll(u64 address, u32 count)
{
	struct pollfd_user fds[8] = {};
	u32 i;

	if (count > 8)
		count = 8;
	if (!count || bpf_probe_read_user(fds, count * sizeof(fds[0]), (void *)address))
		return -1;
	for (i = 0; i < 8; i++)
		if (fds[i].revents)
			return fds[i].fd;
	return -1;
}

/* Those below it, counted: without branches, of which the verifier would follow each combination. */
__attribute__((noinline)) u32 lowest_bit(u64 set)
{
	u64 below = (set & -set) - 1;

	/* clang must not see what this is: it crashes on an instruction that BPF does not have. */
	barrier_var(below);
	below -= (below >> 1) & 0x5555555555555555;
	below = (below & 0x3333333333333333) + ((below >> 2) & 0x3333333333333333);
	below = (below + (below >> 4)) & 0x0f0f0f0f0f0f0f0f;
	return (below * 0x0101010101010101) >> 56;
}

/* select changes its sets in place: the first bit of the read set, then of the write set. */
static __always_inline s32 ready_in_select(struct pt_regs *regs)
{
	u64 set = 0;
	u32 word;

	for (word = 0; word < 4; word++) {
		if (regs->si && !bpf_probe_read_user(&set, 8, (void *)regs->si + word * 8) && set)
			return word * 64 + lowest_bit(set);
		if (regs->dx && !bpf_probe_read_user(&set, 8, (void *)regs->dx + word * 8) && set)
			return word * 64 + lowest_bit(set);
	}
	return -1;
}

/* How a long wait in a call ended: what it found ready, and what was sent on before. */
__attribute__((noinline)) int send_result(struct ts_thread *st, u32 word, s64 result, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ts_identity id = {};
	struct pt_regs *regs;
	struct ts_result *e;

	if (!st)
		return 0;
	e = RESERVE(struct ts_result, TS_RESULT);
	if (!e)
		return 0;
	regs = registers_of(st, task);
	head(&e->head, TS_RESULT, st->id, now);
	e->t_out = st->long_wait;
	e->result = result;
	e->fd = -1;
	if (result > 0 && (word & TS_C_POLL))
		e->fd = ready_in_poll(regs->di, regs->si);
	else if (result > 0 && (word & TS_C_SELECT))
		e->fd = ready_in_select(regs);
	else if (result > 0 && (word & TS_C_EPOLL))
		e->fd = ready_in_epoll(task, regs);
	if (e->fd >= 0 && identify(task, e->fd, &id))
		make_known(st, &id, false);
	else
		e->fd = -1;
	e->key = id.key;
	e->device = id.device;
	e->sent_key = st->sent_key;
	e->sent_device = st->sent_device;
	e->pad = 0;
	st->sent_key = 0;
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("raw_tp/sys_enter")
int on_enter(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ts_thread *st = thread_of(task);
	struct ts_control *c;
	u32 word;

	if (!st) {
		count_timed(TS_CALLS_UNRECORDED, 1);
		return 0;
	}
	c = get_control();
	if (!c)
		return 0;
	word = call_word(ctx[1]);
	if (word & TS_C_CLOSES) {
		struct pt_regs *regs = registers_of(st, task);

		st->called = (struct ts_identity){};
		identify(task, regs->di, &st->called);
	}
	st->call_epoch = c->call_epoch;
	st->long_wait = 0;
	st->stack_owed = 0;
	st->call_since = bpf_ktime_get_ns();
	return 0;
}

/* What the call that returns was made on, into `called`; announced where it is new. What it closed was found as it began. */
__attribute__((noinline)) int find_called(struct ts_thread *st, u32 word, s64 result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ts_identity *called;
	struct pt_regs *regs;

	if (!st || (word & TS_C_CLOSES))
		return 0;
	called = &st->called;
	*called = (struct ts_identity){};
	regs = registers_of(st, task);
	if (word & TS_C_NEWFD) {
		/* Nameless things reuse their addresses: a new one is always told. */
		if (result >= 0 && identify(task, result, called))
			make_known(st, called, (word & TS_C_NAMES) || called->kind == TS_O_ANON);
	} else if (TS_C_FD(word)) {
		if (identify(task, argument(regs, TS_C_FD(word)), called))
			make_known(st, called, (word & TS_C_NAMES) != 0);
	}
	return 0;
}

__attribute__((noinline)) int hand_over_calls(struct ts_thread *st, u64 now)
{
	if (st)
		flush_calls(st, now);
	return 0;
}

/* Puts the call into the batch, and hands that over when it is full. */
static __always_inline void batch_call(struct ts_thread *st, u32 call_and_compat, u64 ns, s64 result, u64 now)
{
	struct ts_call *record;
	u32 at = st->batched;

	if (at < TS_BATCH) {
		record = &st->batch[at];
		record->key = st->called.key;
		record->device = st->called.device;
		record->ns = ns < 0x80000000 ? ns : (0x80000000 | (ns >> 10));
		record->result = result > 0x7fffffff ? 0x7fffffff : (result < -4095 ? 0x7fffffff : result);
		record->call = call_and_compat;
		record->object_kind = st->called.kind;
		record->compat = call_and_compat >> 16;
		st->batched = at + 1;
	}
	if (st->batched >= TS_BATCH)
		hand_over_calls(st, now);
}

/* Tasks of tokio of which a stack was taken, by process: only a stack tells what they are. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct ts_future);
	__type(value, u64);
} futures_seen SEC(".maps");

/* A stack takes 2 us: 2 % of a thread that does nothing but begin new tasks. So many may come at once: those of a program that begins them all. */
#define TS_FUTURE_EVERY 100000
#define TS_FUTURES_AT_ONCE 128

/* The stack of a task of tokio that made a call and was not seen before is taken. Key and value lie in the thread: the stack is deep here. */
static __noinline int see_future(struct ts_thread *st, u64 now)
{
	u64 earned = now - TS_FUTURES_AT_ONCE * TS_FUTURE_EVERY;

	if (st->future_stack > earned)
		earned = st->future_stack;
	earned += TS_FUTURE_EVERY;
	if (st->task == st->task_before || !polls_future(st) || earned > now)
		return 0;
	st->future.number = st->task;
	st->future.pid = bpf_get_current_pid_tgid() >> 32;
	if (bpf_map_lookup_elem(&futures_seen, &st->future))
		return 0;
	st->future_stack = earned;
	bpf_map_update_elem(&futures_seen, &st->future, &st->future_stack, BPF_ANY);
	if (!st->sites_due)
		st->sites_due = 1;
	return 0;
}

/* What has been done since the call returned took how long? Asked of few, because to ask takes a while itself. */
static __always_inline void measure_return(struct ts_thread *st, u64 since)
{
	u64 took;

	if (st->calls % TS_MEASURED_RETURNS || !has_run_since(st, since))
		return;
	took = bpf_ktime_get_ns() - since;
	st->returns_ns += took;
	st->returns++;
	count_timed(TS_CALLS_RETURNS_NS, took);
	count_timed(TS_CALLS_RETURNS, 1);
}

/* The stacks that are owed to the call that returns: those of its wait and of itself. */
static __noinline int take_call_stacks(struct ts_thread *st)
{
	u64 since = bpf_ktime_get_ns();

	/* The waits of the call that followed may have one already: it is owed to the one that was expected to be short. */
	if (st->stack_owed)
		take_own_stack(TS_IN_CALL, TS_OF_WAIT, st->stack_owed);
	if (st->site_t)
		take_own_stack(TS_IN_CALL, TS_OF_CALL, st->site_t);
	note_stack_taken(st, TS_CALLS_STACKS_NS, since);
	return 0;
}

/* The call that a thread returns from, but for the stack of a wait in it. 0: it was in none. */
static __noinline int finish_call(struct ts_thread *st, struct task_struct *task, struct pt_regs *regs, s64 result,
				  struct ts_control *c)
{
	u64 now = bpf_ktime_get_ns(), ns = now - st->call_since;
	u32 word, call_and_compat;
	u8 compat;
	s16 call;

	if (c->tasks) {
		st->task_before = st->task;
		note_task(st, TS_IN_CALL, st->call_since, now);
		see_future(st, now);
	}
	if (c->tags)
		note_tag(st, st->call_since, now);
	st->call_since = 0;
	st->path_mark = 0;
	st->site_t = 0;
	st->calls++;
	call = call_of(task, regs, &compat);
	if (call < 0)
		return 0;
	call_and_compat = (u16)call | compat << 16;
	word = compat ? 0 : call_word(call);
	find_called(st, word, result);
	if ((word & (TS_C_SENDTO | TS_C_SENDMSG)) && st->called.kind == TS_O_SOCKET && result > 0)
		learn_destination(st, word);
	if (TS_C_PATH(word) && (result < 0 || !(word & TS_C_NEWFD)))
		send_path(st, argument(regs, TS_C_PATH(word)), call_and_compat, result, now);
	if ((word & TS_C_WATCHES) && !result)
		watch(task, regs);
	if (st->long_wait)
		send_result(st, word, result, now);
	if ((word & TS_C_SENDS) && st->called.kind == TS_O_SOCKET && result > 0) {
		st->sent_key = st->called.key;
		st->sent_device = st->called.device;
	}
	batch_call(st, call_and_compat, ns, result, now);
	if (counts_sites(st, task))
		count_site(st, call_and_compat, result, now);
	if (st->long_wait && has_slept(result, ns))
		st->sites_due = TS_SITE_AFTER;
	measure_return(st, now);
	return 1;
}

SEC("raw_tp/sys_exit")
int on_return(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ts_thread *st = thread_of(task);
	struct ts_control *c;
	int known;

	if (!st)
		return 0;
	c = get_control();
	if (!c || c->stopped || st->call_epoch != c->call_epoch || !st->call_since)
		return 0;
	/* The tracepoint hands over the registers: no helper is needed to find them. */
	if (bpf_ksym_exists(bpf_rdonly_cast))
		known = finish_call(st, task, AS(pt_regs, (void *)ctx[0]), ctx[1], c);
	else
		known = finish_call(st, task, registers_of(st, task), ctx[1], c);
	if (known && (st->stack_owed || st->site_t))
		take_call_stacks(st);
	st->long_wait = 0;
	return 0;
}
