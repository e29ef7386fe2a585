/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/*
 * Which other processes come in: those that exchange something with one that is recorded. It is seen when one wakes the
 * other from within a call on a pipe or a socket: the server that is sent a request before it has run, and at the
 * latest whoever answers. Only loaded when the user wants it.
 *
 * The thread that is met is tracked here and now, other threads of its process when they are met or when user space,
 * which is told, goes over all tasks. Children are the fork probe's.
 */

/*
 * Processes that are never followed: timesink and what it was started from; and those that were refused, so that each
 * counts once.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, u32);
} strangers SEC(".maps");

/* The processes that came in. A ring of its own, because user space is woken for these. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8192);
} newcomers SEC(".maps");

/* Which end of a connection a socket is. */
enum ts_end_of {
	TS_EITHER, /* it has no such ends, or they are not known */
	TS_CONNECTED,
	TS_ACCEPTED,
};

/* An accepted unix socket has its listener's address; who connects mostly has none. */
static __always_inline enum ts_end_of end_of_unix(struct sock *sk)
{
	struct sock *peer = BPF_CORE_READ((struct unix_sock *)sk, peer);
	bool named = BPF_CORE_READ((struct unix_sock *)sk, addr) != NULL;
	bool peer_named = peer && BPF_CORE_READ((struct unix_sock *)peer, addr) != NULL;

	if (named == peer_named)
		return TS_EITHER;
	return named ? TS_ACCEPTED : TS_CONNECTED;
}

/* The kernel marks ports that it has chosen for a connection; an accepted socket has its listener's port. */
static __always_inline enum ts_end_of end_of_tcp(struct sock *sk)
{
	struct inet_bind_bucket *port = BPF_CORE_READ((struct inet_connection_sock *)sk, icsk_bind_hash);

	if (BPF_CORE_READ(sk, sk_protocol) != 6 || !port)
		return TS_EITHER;
	return BPF_CORE_READ(port, fastreuse) == -1 ? TS_CONNECTED : TS_ACCEPTED;
}

/* Whether what is sent goes to this machine: the device that it leaves by is none that one can touch. */
static __always_inline bool stays_here(struct sock *sk)
{
	struct dst_entry *way = BPF_CORE_READ(sk, sk_dst_cache);

	return way && !BPF_CORE_READ(way, dev, dev.parent);
}

/*
 * Whether the current thread's socket is what it wakes another through. In an interrupt that can only be over the
 * network on this machine: there the sender does the receiver's work. `end` is which end of it is the current thread's.
 */
static __always_inline bool through_socket(u64 file_address, bool interrupt, enum ts_end_of *end)
{
	struct file *file = (void *)file_address;
	struct socket *socket = BPF_CORE_READ(file, private_data);
	struct sock *sk = BPF_CORE_READ(socket, sk);
	u16 family;

	if (!sk)
		return false;
	family = BPF_CORE_READ(sk, __sk_common.skc_family);
	if (family == AF_UNIX) {
		*end = end_of_unix(sk);
		return !interrupt;
	}
	if (family != AF_INET && family != AF_INET6)
		return false;
	*end = end_of_tcp(sk);
	return !interrupt || stays_here(sk);
}

/* Whoever reads what the program prints is not part of what it waits for, but of who started it. */
static __always_inline bool is_our_output(struct ts_identity *id)
{
	return (id->key == config.output_key[0] && id->device == config.output_device[0]) ||
	       (id->key == config.output_key[1] && id->device == config.output_device[1]);
}

/* Whether the current thread wakes the other through something that both use. A global function: verified once. */
__attribute__((noinline)) int in_contact(u32 woken_tgid, u32 interrupt)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct pt_regs *regs = (void *)bpf_task_pt_regs(current);
	enum ts_end_of end = TS_EITHER;
	struct ts_identity id = {};
	u8 compat;
	s16 call = call_of(current, regs, &compat);
	u32 word = compat ? 0 : call_word(call);

	/* Memory that both have mapped. */
	if (word & TS_C_FUTEX)
		return !interrupt && current->tgid != woken_tgid ? 1 + end : 0;
	if (!TS_C_FD(word) || !identify(current, argument(regs, TS_C_FD(word)), &id) || is_our_output(&id))
		return 0;
	switch (id.kind) {
	case TS_O_PIPE:
		return !interrupt ? 1 + end : 0;
	case TS_O_ANON: /* an eventfd, if it can be written to */
		return !interrupt && (word & TS_C_SENDS) ? 1 + end : 0;
	case TS_O_SOCKET:
		return through_socket(file_at(id.slot), interrupt, &end) ? 1 + end : 0;
	}
	return 0;
}

/* Whether there is room for one more process. It is noted, and user space told. */
static __always_inline bool admit(u32 tgid, struct ts_control *c)
{
	u32 one = 1;

	/* The very first process has its hands in everything. */
	if (tgid <= 1 || bpf_map_lookup_elem(&strangers, &tgid))
		return false;
	if (__sync_fetch_and_add(&c->followed, 1) >= TS_MOST_FOLLOWED) {
		bpf_map_update_elem(&strangers, &tgid, &one, BPF_ANY);
		count_lost(TS_NOT_FOLLOWED, 1);
		return false;
	}
	if (bpf_map_update_elem(&seeds, &tgid, &one, BPF_NOEXIST))
		return false;
	bpf_ringbuf_output(&newcomers, &tgid, sizeof(tgid), BPF_RB_FORCE_WAKEUP);
	return true;
}

/* What the current thread has run since the kernel last added to its sum. */
static __always_inline u64 run_since_added(struct task_struct *current, u64 now)
{
	u32 zero = 0;
	struct ts_history *h = bpf_map_lookup_elem(&history, &zero);
	s64 ran;

	if (!h || !h->clock_task)
		return 0;
	ran = now - h->least - (h->clock - h->clock_task) - current->se.exec_start;
	return ran > 0 && ran < 1000000000 ? ran : 0;
}

/* A thread that is woken, and that there is no memory for yet. */
static __noinline int keep_met(struct task_struct *woken, struct task_struct *current, u32 followed, u32 wake,
			       u64 now)
{
	struct ts_met m = { .t = now, .waker = current->pid, .followed = followed, .wake = wake };
	struct ts_control *c = get_control();
	u32 tid = woken->pid;

	/* Or somebody else just saw to it. */
	if (thread_of(woken))
		return 0;
	m.waker_sends = m.wake == TS_WAKE_NET && is_sending(current);
	read_name(m.waker_name, current);
	if (!bpf_map_update_elem(&met, &tid, &m, BPF_NOEXIST) && c)
		__sync_fetch_and_add(&c->met, 1);
	return 0;
}

/* Such a thread is tracked, unless there is no memory yet again: its wait, from when it was met, is over. */
static __noinline int track_met(struct task_struct *task)
{
	struct ts_control *c = get_control();
	u32 tid = task->pid;
	struct ts_met *m;
	struct ts_thread *st;

	if (!c || !c->met)
		return 0;
	m = bpf_map_lookup_elem(&met, &tid);
	if (!m)
		return 0;
	st = track(task, m->t, true);
	if (!st && !thread_of(task))
		return 0;
	if (st) {
		set_bases(st, task);
		st->followed = m->followed;
		note_call(st, task, registers_of(st, task));
		st->wake = m->wake;
		st->waker_sends = m->waker_sends;
		st->waker = m->waker;
		__builtin_memcpy(st->waker_name, m->waker_name, sizeof(st->waker_name));
		st->wakes++;
		st->t_wake = m->t + 1;
		tell_start(st, task, TS_START_SEED, 0, 0, 0, m->t);
		st->state = TS_BLOCKED;
	}
	if (!bpf_map_delete_elem(&met, &tid))
		__sync_fetch_and_add(&c->met, -1);
	return st != NULL;
}

SEC("tp_btf/sched_waking")
int on_contact(u64 *ctx)
{
	struct task_struct *woken = (void *)ctx[0], *current = bpf_get_current_task_btf(), *stranger;
	struct ts_thread *to, *by, *known, *st;
	struct ts_control *c = get_control();
	u32 tgid, *followed;
	u8 context;
	int met;
	u64 now;

	if (!c || !c->following || c->stopped)
		return 0;
	to = thread_of(woken);
	by = thread_of(current);
	/* One of the two is recorded. */
	if (to && by)
		return 0;
	known = to ? to : by;
	if (!known || known->dead)
		return 0;
	stranger = to ? current : woken;
	context = wake_context();
	if ((plain(stranger)->flags & PF_KTHREAD) || !plain(stranger)->mm)
		return 0;
	if (context != TS_WAKE_TASK && context != TS_WAKE_NET)
		return 0;
	tgid = stranger->tgid;
	followed = bpf_map_lookup_elem(&seeds, &tgid);
	if (!followed) {
		met = in_contact(woken->tgid, context == TS_WAKE_NET);
		if (!met)
			return 0;
		/* Of a process that the user did not name only its servers come in, not its other clients. */
		if (known->followed && met == (to ? 1 + TS_CONNECTED : 1 + TS_ACCEPTED))
			return 0;
		if (!admit(tgid, c))
			return 0;
	}
	/* One that waits waits for a moment yet, so that it is known what ended that. */
	now = bpf_ktime_get_ns() - 1;
	st = track(stranger, now, true);
	if (!st) {
		/* One that runs is found by user space. */
		if (!to)
			keep_met(stranger, current, followed ? *followed : 1, context, now);
		return 0;
	}
	set_bases(st, stranger);
	st->followed = followed ? *followed : 1;
	if (to) {
		st->cpu_base += run_since_added(current, now);
		st->exec_at_out = st->cpu_base;
	} else {
		note_call(st, stranger, registers_of(st, stranger));
		note_waker(st, current, context);
	}
	tell_start(st, stranger, TS_START_SEED, 0, 0, 0, now);
	set_state(st, stranger);
	return 0;
}
