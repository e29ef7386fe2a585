/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/*
 * Tags: what a thread says itself that it is at work for, laid out as sdk/c/timesink.h has it: in thread-local storage of the program,
 * and where a pointer in that of a library leads. Of Go, a label of the goroutine.
 *
 * Nothing that is read is trusted: a length beyond the room is no tag, a text is read once, by the thread's own processor, and
 * no longer than its room.
 */
#ifndef TIMESINK_TAGS_H
#define TIMESINK_TAGS_H

/* Which processes have tags, and where. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, struct ts_tags);
} tagged SEC(".maps");

struct ts_told_tag {
	u64 serial; /* of the process */
	u64 tag;
};

/* Texts that were told already. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct ts_told_tag);
	__type(value, u8);
} told_tags SEC(".maps");

/* Tells the text of a tag, once; false if that could not be. */
static __always_inline bool tell_tag(struct ts_thread *st, struct ts_tags *tags, u64 text, u64 tag, u64 now)
{
	struct ts_told_tag key = { tags->serial, tag };
	u32 length = tag & 0xffff;
	struct ts_tag_text *e;
	u8 told = 1;

	if (bpf_map_lookup_elem(&told_tags, &key))
		return true;
	if (length > TS_TAG_BYTES)
		return false;
	e = RESERVE(struct ts_tag_text, TS_TAG_TEXT);
	if (!e)
		return false;
	head(&e->head, TS_TAG_TEXT, st->id, now);
	e->tag = tag;
	__builtin_memset(e->text, 0, sizeof(e->text));
	if (bpf_probe_read_user(e->text, length, (void *)text)) {
		bpf_ringbuf_discard(e, BPF_RB_NO_WAKEUP);
		return false;
	}
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	bpf_map_update_elem(&told_tags, &key, &told, BPF_ANY);
	return true;
}

/* How a library says that the pointer to a thread's tags is found: so far from the thread's FS, or in the storage of a module. */
#define TS_BY_DISTANCE 0x31657265685f7374
#define TS_BY_MODULE 0x31656c75646f6d73
#define TS_MOST_MODULES 65536

struct ts_tags_place {
	u64 way;
	u64 distance;
	u64 module;
};

/*
 * Where a library has the tags of the thread; 0: it has none, or is not ready or there any more. A global function: the verifier looks at
 * it once.
 */
__attribute__((noinline)) u64 tags_of_library(u64 library, u64 fs)
{
	struct ts_tags_place place = {};
	u64 at = fs;

	if (bpf_probe_read_user(&place, sizeof(place), (void *)library))
		return 0;
	if (place.way == TS_BY_MODULE) {
		if (place.module >= TS_MOST_MODULES)
			return 0;
		at = user_word(user_word(fs + 8) + place.module * 8);
	} else if (place.way != TS_BY_DISTANCE) {
		return 0;
	}
	at = user_word(at + place.distance);
	return at > TS_PAGE && !(at & 7) ? at : 0;
}

/* Notes the tag that a thread has in one of the places, 0: none, and whether it is the one that changed last. */
static __always_inline void keep_tag(struct ts_thread *st, u32 place, u64 tag, u64 text)
{
	if (tag != st->tags[place]) {
		st->tags[place] = tag;
		st->tag_order[place] = ++st->tag_changes;
	}
	if (tag && st->tag_order[place] >= st->tag_latest) {
		st->tag_latest = st->tag_order[place];
		st->tag_found = tag;
		st->tag_text = text;
	}
}

/* The same of the one that is at this address; it is the thread's if none that was looked at before changed later. */
__attribute__((noinline)) int look_at_tags(struct ts_thread *st, u32 place, u64 at)
{
	u64 tag = 0;

	if (!st || place >= TS_TAG_PLACES)
		return 0;
	/* What cannot be read just now is as it was. */
	if (at && bpf_probe_read_user(&tag, sizeof(tag), (void *)at))
		tag = st->tags[place];
	if (!(tag & 0xffff) || (tag & 0xffff) > TS_TAG_BYTES)
		tag = 0;
	keep_tag(st, place, tag, at + sizeof(tag));
	return 0;
}

__attribute__((noinline)) int look_at_library(struct ts_thread *st, u32 place, u64 library, u64 fs)
{
	look_at_tags(st, place, tags_of_library(library, fs));
	return 0;
}

/* Texts of Go, and a label as it keeps them since 1.24. */
struct ts_go_text {
	u64 at;
	u64 length;
};
struct ts_go_label {
	struct ts_go_text key;
	struct ts_go_text value;
};

#define TS_MOST_LABELS 8 /* as many as a map has in its first bucket */
#define TS_LABEL 0x6b6e6973656d6974 /* "timesink" */
/* Of a map: how many times its buckets were doubled, where these are. Of a bucket: keys and values, behind a byte for each. */
#define TS_GO_MAP_SIZE 9
#define TS_GO_MAP_BUCKETS 16
#define TS_GO_BUCKET_KEYS 8
#define TS_GO_BUCKET_VALUES (TS_GO_BUCKET_KEYS + TS_MOST_LABELS * 16)

/* Whether this is the name of our label. A global function: the verifier looks at it once. */
__attribute__((noinline)) int is_our_label(u64 at)
{
	struct ts_go_text key = {};

	return !bpf_probe_read_user(&key, sizeof(key), (void *)at) && key.length == 8 && user_word(key.at) == TS_LABEL;
}

/* Where the value of the label "timesink" is in a goroutine's, which are kept at `at`; 0: it has none. Global for the same reason. */
__attribute__((noinline)) u64 label_of_goroutine(u64 at, u32 in_map)
{
	struct ts_go_text list;
	u8 doubled = 1;
	u32 i;

	if (in_map) {
		at = user_word(at);
		if (!at || bpf_probe_read_user(&doubled, 1, (void *)at + TS_GO_MAP_SIZE) || doubled)
			return 0;
		at = user_word(at + TS_GO_MAP_BUCKETS);
		for (i = 0; at && i < TS_MOST_LABELS; i++)
			if (is_our_label(at + TS_GO_BUCKET_KEYS + i * sizeof(list)))
				return at + TS_GO_BUCKET_VALUES + i * sizeof(list);
		return 0;
	}
	if (bpf_probe_read_user(&list, sizeof(list), (void *)at))
		return 0;
	for (i = 0; i < TS_MOST_LABELS && i < list.length; i++)
		if (is_our_label(list.at + i * sizeof(struct ts_go_label)))
			return list.at + i * sizeof(struct ts_go_label) + sizeof(struct ts_go_text);
	return 0;
}

/*
 * What stands for a text of Go as a tag; 0: it is none, or cannot be read. Of a long text it is its length, the first 64 bytes and the last
 * eight: to look at all of it costs the verifier a hundred times as much.
 */
__attribute__((noinline)) u64 tag_of_text(u64 at, u64 length)
{
	u64 mark, piece, i;

	if (length > TS_TAG_BYTES)
		length = TS_TAG_BYTES;
	if (length < 8) {
		if (!length || bpf_probe_read_user(&piece, sizeof(piece), (void *)at))
			return 0;
		return mixed(length, piece << (64 - length * 8)) << 16 | length;
	}
	mark = mixed(length, user_word(at + length - 8));
	for (i = 0; i < 8 && i * 8 + 8 <= length; i++)
		mark = mixed(mark, user_word(at + i * 8));
	return mark << 16 | length;
}

__attribute__((noinline)) int look_at_label(struct ts_thread *st, u32 in_map)
{
	struct ts_go_text value = {};
	u64 at, tag = 0;

	if (!st)
		return 0;
	at = st->task && st->task_labels ? label_of_goroutine(st->task_labels, in_map) : 0;
	if (at && !bpf_probe_read_user(&value, sizeof(value), (void *)at) && value.length)
		tag = tag_of_text(value.at, value.length);
	keep_tag(st, TS_TAG_PLACES - 1, tag, value.at);
	return 0;
}

#define TS_LABELS_ONLY 16 /* after so many looks a process that had nothing but Go's labels is asked for again: it may load a library with tags */

/*
 * Notes which tag the current thread has at `now` and has had since `since`; tells of it where that is another than before. Of the
 * program's tag, those of its libraries and the goroutine's it is the one that changed last. A global function, too.
 */
__attribute__((noinline)) int note_tag(struct ts_thread *st, u64 since, u64 now)
{
	u32 pid = bpf_get_current_pid_tgid() >> 32, i;
	struct task_struct *task;
	struct ts_tags *tags;
	struct ts_tag *e;
	u64 fs = 0, tag, text;

	if (!st)
		return 0;
	if (st->labels_only && !st->task_labels && !st->tag) {
		st->labels_only--;
		st->tag_seen = now;
		return 0;
	}
	tags = bpf_map_lookup_elem(&tagged, &pid);
	if (!tags)
		return 0;
	if (tags->offset || tags->library[0]) {
		task = (void *)bpf_get_current_task();
		fs = BPF_CORE_READ(task, thread.fsbase);
	}
	st->labels_only = fs ? 0 : TS_LABELS_ONLY;
	st->tag_latest = 0;
	st->tag_found = 0;
	if (tags->offset)
		look_at_tags(st, 0, fs + tags->offset);
	for (i = 0; i < TS_TAG_LIBRARIES && tags->library[i]; i++)
		look_at_library(st, i + 1, tags->library[i], fs);
	if (tags->labels)
		look_at_label(st, tags->in_map);
	tag = st->tag_found;
	text = st->tag_text;
	if (tag == st->tag) {
		st->tag_seen = now;
		return 0;
	}
	if (tag && !tell_tag(st, tags, text, tag, now))
		return 0;
	e = RESERVE(struct ts_tag, TS_TAG);
	if (!e)
		return 0;
	head(&e->head, TS_TAG, st->id, since > st->tag_seen ? since : st->tag_seen);
	e->seen_before = st->tag_seen;
	e->tag = tag;
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	st->tag = tag;
	st->tag_seen = now;
	return 0;
}

/* The same, of the current thread as it leaves the processor: in a call it has had its tag since that began. */
static __always_inline void note_tag_of(struct ts_thread *st, struct ts_control *c, u64 now)
{
	bool in_call = st->call_since && st->call_epoch == c->call_epoch;

	note_tag(st, in_call ? st->call_since : now, now);
}

static __always_inline void inherit_tags(u32 from, u32 to)
{
	struct ts_tags *tags = bpf_map_lookup_elem(&tagged, &from);

	if (tags && from != to)
		bpf_map_update_elem(&tagged, &to, tags, BPF_ANY);
}

#endif
