/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/*
 * Whom a socket that is not connected sends to. A client of a datagram protocol often gives the address with each
 * message: its socket has no peer that the kernel knows. As long as all goes to one address, that is told as its peer.
 */
#ifndef TIMESINK_DESTINATIONS_H
#define TIMESINK_DESTINATIONS_H

/* Values of the map of what is announced. Anything else is a hash of the one destination that is told. */
#define TS_ANNOUNCED 1
#define TS_MANY_DESTINATIONS 2
#define TS_ONE_DESTINATION 4

/* The address that a call was given, as struct sockaddr_in or sockaddr_in6. False: none. */
static __always_inline bool read_destination(struct pt_regs *regs, u32 word, struct ts_destination *to)
{
	struct {
		u16 family;
		u16 port;
		u32 address;
	} head = {};
	u64 at = 0;

	if (word & TS_C_SENDTO)
		at = argument(regs, 5);
	else
		bpf_probe_read_user(&at, sizeof(at), (void *)argument(regs, 2));
	if (!at || bpf_probe_read_user(&head, sizeof(head), (void *)at))
		return false;
	to->family = head.family;
	to->port = __builtin_bswap16(head.port);
	__builtin_memset(to->address, 0, sizeof(to->address));
	if (head.family == AF_INET)
		*(u32 *)to->address = head.address;
	else if (head.family != AF_INET6 || bpf_probe_read_user(to->address, sizeof(to->address), (void *)at + 8))
		return false;
	return true;
}

static __always_inline u32 hash_destination(struct ts_destination *to)
{
	u32 *word = (u32 *)to->address;
	u32 hash = to->port, i;

	for (i = 0; i < 4; i++)
		hash = (hash ^ word[i]) * 0x9e3779b1;
	return hash | TS_ONE_DESTINATION;
}

/* Announce a socket again when it is first sent on, and, without a peer, when it is sent to another. */
__attribute__((noinline)) int learn_destination(struct ts_thread *st, u32 word)
{
	struct ts_announced_key k = {};
	struct ts_object_work *work;
	u32 zero = 0, hash, *told;
	struct pt_regs *regs;

	if (!st)
		return 0;
	k.key = st->called.key;
	k.device = st->called.device;
	regs = registers_of(st, bpf_get_current_task_btf());
	work = bpf_map_lookup_elem(&object_scratch, &zero);
	if (!work || !read_destination(regs, word, &work->destination))
		return 0;
	hash = hash_destination(&work->destination);
	told = bpf_map_lookup_elem(&announced, &k);
	if (!told || *told == hash || *told == TS_MANY_DESTINATIONS)
		return 0;
	work->destination.key = *told == TS_ANNOUNCED ? k.key : 0;
	*told = *told == TS_ANNOUNCED ? hash : TS_MANY_DESTINATIONS;
	announce(file_at(st->called.slot), k.key, st->id);
	work->destination.key = 0;
	return 0;
}

#endif
