/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/* Where a stack is put together, and how the memory it is taken from is read. */
#ifndef TIMESINK_SCRATCH_H
#define TIMESINK_SCRATCH_H

#define TS_PAGE 4096

/* One for each context that may interrupt another: switches and wake-ups, calls, the sampler. */
enum ts_scratch {
	TS_IN_SWITCH,
	TS_IN_CALL,
	TS_IN_SAMPLE,
};
#define TS_CONTEXTS 3
/* For each processor one for each context. An element of a map by processor can only hold 32 KiB. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TS_CONTEXTS); /* times the processors: set before loading */
	__type(key, u32);
	__type(value, struct ts_stack);
} stack_scratch SEC(".maps");

static __always_inline struct ts_stack *scratch_of(u32 where)
{
	u32 key = bpf_get_smp_processor_id() * TS_CONTEXTS + where;

	return bpf_map_lookup_elem(&stack_scratch, &key);
}

/*
 * A loop of up to `most` rounds of `step`, which ends it by returning 1; of a few where the kernel has no loops (before 5.17),
 * and then true says that these were not enough.
 *
 * Verifiers before 6.8 look at a step once, with what they know of its state as the loop begins: a counter that starts at
 * zero is zero to them, and what only later rounds reach is dead code, which they remove. Therefore what changes from
 * round to round lies in a map, of whose content nothing is known; on the stack is only where that is, and what stays.
 */
#define LOOP(most, few, step, state)                                                               \
	({                                                                                         \
		u32 round = 0;                                                                     \
		if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop))                   \
			bpf_loop(most, step, state, 0);                                            \
		else                                                                               \
			for (; round < (few); round++)                                             \
				if (step(round, state))                                            \
					break;                                                     \
		round == (few);                                                                    \
	})

static __always_inline u64 user_word(u64 address)
{
	u64 word = 0;

	bpf_probe_read_user(&word, sizeof(word), (void *)address);
	return word;
}

static __always_inline u64 mixed(u64 mark, u64 with)
{
	mark = (mark ^ with) * 0x9e3779b97f4a7c15;
	return mark ^ (mark >> 29);
}

#endif
