/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/*
 * What a thread is about to wait for, and for how long: of its registers, and of what lies in its own
 * memory, which can be read while it still runs only.
 */

#define TS_CLOCK_REALTIME 0
#define TS_CLOCK_MONOTONIC 1

/* How long it is until a moment by the clock of the day, ~0: that is not known, or it has passed. */
static __always_inline u64 until_day_time(u64 at, u64 now)
{
	struct ts_control *c = get_control();
	s64 ahead = c ? c->day_clock_ahead : 0;

	at -= ahead;
	return ahead && at >= now ? at - now : ~0ULL;
}

/* The length of time that a blocking call asks for; read in the caller's own memory. */
static __always_inline u64 asked_time(struct pt_regs *regs, u32 word, u64 now)
{
	u32 index = TS_C_TIME(word), kind = TS_C_TIME_KIND(word);
	struct timespec_user time = {};
	u64 value = argument(regs, index);

	if (!index)
		return ~0ULL;
	if (kind == TS_T_MS)
		return (s32)value < 0 ? ~0ULL : (u64)(u32)value * 1000000;
	if (!value || bpf_probe_read_user(&time, sizeof(time), (void *)value))
		return ~0ULL;
	if (kind == TS_T_TIMEVAL)
		return time.sec * 1000000000 + time.nsec * 1000;
	if (kind == TS_T_CLOCK && (regs->si & 1)) {
		/* An absolute time. Against a third clock its length is not known. */
		u64 at = time.sec * 1000000000 + time.nsec;

		if (regs->di == TS_CLOCK_REALTIME)
			return until_day_time(at, now);
		if (regs->di != TS_CLOCK_MONOTONIC || at < now)
			return ~0ULL;
		return at - now;
	}
	return time.sec * 1000000000 + time.nsec;
}

/* Operations of futex, without the bit that says that no other process uses it. */
#define TS_FUTEX_OPERATION 0x7f
#define TS_FUTEX_WAIT 0
#define TS_FUTEX_LOCK_PI 6
#define TS_FUTEX_WAIT_BITSET 9
#define TS_FUTEX_LOCK_PI2 13
#define TS_FUTEX_CLOCK_REALTIME 256 /* beside the operation */
#define TS_FUTEX_OWNER 0x3fffffff /* of a word that holds it: the bits above say that somebody waits */
#define TS_CONTENDED 2 /* glibc's mutex holds this when somebody waits; its owner stands 8 bytes behind */

static __always_inline void look_at_futex(struct ts_thread *st, struct pt_regs *regs, u64 now)
{
	u32 operation = regs->si & TS_FUTEX_OPERATION, owner = 0;
	struct timespec_user time = {};

	/* User space checks that an owner is a thread of this process. */
	if (operation == TS_FUTEX_LOCK_PI || operation == TS_FUTEX_LOCK_PI2) {
		if (!bpf_probe_read_user(&owner, sizeof(owner), (void *)regs->di))
			st->owner = owner & TS_FUTEX_OWNER;
		return;
	}
	if (operation != TS_FUTEX_WAIT && operation != TS_FUTEX_WAIT_BITSET)
		return;
	if ((u32)regs->dx == TS_CONTENDED &&
	    !bpf_probe_read_user(&owner, sizeof(owner), (void *)regs->di + 8))
		st->owner = owner;
	if (!regs->r10 || bpf_probe_read_user(&time, sizeof(time), (void *)regs->r10))
		return;
	st->asked_ns = time.sec * 1000000000 + time.nsec;
	if (operation == TS_FUTEX_WAIT_BITSET) {
		/* It takes an absolute time. */
		if (regs->si & TS_FUTEX_CLOCK_REALTIME)
			st->asked_ns = until_day_time(st->asked_ns, now);
		else if (st->asked_ns < now)
			st->asked_ns = ~0ULL;
		else
			st->asked_ns -= now;
	}
}

/* Note the call that a thread is blocked in, from its registers. */
static __always_inline void note_call(struct ts_thread *st, struct task_struct *task, struct pt_regs *regs)
{
	u8 compat;
	u32 word;

	st->call = call_of(task, regs, &compat);
	st->compat = compat;
	word = compat ? 0 : call_word(st->call);
	st->word = word;
	if (TS_C_FD(word)) {
		st->about = argument(regs, TS_C_FD(word));
	} else if (word & TS_C_FUTEX) {
		st->futex_operation = regs->si & TS_FUTEX_OPERATION;
		st->futex_contended = (u32)regs->dx == TS_CONTENDED;
		st->about = regs->di;
	}
}

/*
 * Whether a thread blocks where all waits in its call do. What else they may wait for (a page of their result) does not let
 * them be interrupted; a futex with an owner that the kernel knows has another place.
 */
static __always_inline bool blocks_in_one_place(struct ts_thread *st, u32 state)
{
	if (state != TASK_INTERRUPTIBLE || !(st->word & TS_C_ONE_PLACE))
		return false;
	return !(st->word & TS_C_FUTEX) || st->futex_operation == TS_FUTEX_WAIT ||
	       st->futex_operation == TS_FUTEX_WAIT_BITSET;
}

/* A poll of one descriptor for one thing waits for it as a read or a write of it would. */
#define TS_POLLIN 1
#define TS_POLLOUT 4
static __always_inline void look_at_poll(struct ts_thread *st, struct pt_regs *regs)
{
	struct pollfd_user polled = {};
	u16 wanted;

	if (regs->si != 1 ||
	    bpf_probe_read_user(&polled, sizeof(polled), (void *)regs->di) || polled.fd < 0)
		return;
	wanted = polled.events & (TS_POLLIN | TS_POLLOUT);
	if (wanted != TS_POLLIN && wanted != TS_POLLOUT)
		return;
	st->polled = wanted;
	st->about = polled.fd;
}

/* A thread blocks: the call it does so in, and what of it lies in its own memory. */
static __always_inline void about_to_block(struct ts_thread *st, struct task_struct *task, u64 now)
{
	struct pt_regs *regs = registers_of(st, task);

	note_call(st, task, regs);
	st->polled = 0;
	if (!(st->word & TS_C_FUTEX) && !TS_C_TIME(st->word))
		return;
	st->asked_ns = ~0ULL;
	st->owner = 0;
	if (!plain(task)->mm)
		return;
	if (st->word & TS_C_FUTEX)
		look_at_futex(st, regs, now);
	else
		st->asked_ns = asked_time(regs, st->word, now);
	if (st->word & TS_C_POLL)
		look_at_poll(st, regs);
}
