/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Tags: what a thread is at work for, said by the program itself, for a recorder outside of it to read. C11 and C++11, GCC and
 * Clang, x86-64 Linux; a header and no library.
 *
 *	void scrub(void)
 *	{
 *		TIMESINK_TAG("storage/scrub");		// up to the end of the block
 *		...
 *		{
 *			TIMESINK_TAG("crc");		// storage/scrub/crc
 *
 * Work that goes on on another thread takes its tags along:
 *
 *	timesink_tags held = timesink_tag_capture();	// where it is handed over
 *	timesink_tag_resume(&held);			// where it goes on
 *
 * A tag costs a few nanoseconds and no system call. Without a recorder nothing else happens.
 */
#ifndef TIMESINK_TAGS_H
#define TIMESINK_TAGS_H

#include <stdint.h>
#include <string.h>

#define TIMESINK_TAG_BYTES 256 /* of a path; what is longer is cut */
#define TIMESINK_TAG_LEVELS 64 /* tags below that are not seen */

#ifdef __cplusplus
extern "C" {
#endif

/* All that a recorder reads are `current` and as much of `path` as that says. */
typedef struct timesink_tags {
	uint64_t current; /* the path's length in the low 16 bits, above a mark of its text; 0: no tag */
	char path[TIMESINK_TAG_BYTES]; /* all tags from the outermost on, with a slash between them */
	uint64_t outer[TIMESINK_TAG_LEVELS]; /* `current` before each tag */
	uint32_t levels;
	uint32_t reserved;
} timesink_tags;

/* One for each thread, shared by all files of a program that include this. */
__attribute__((weak, visibility("hidden"))) __thread timesink_tags timesink_tags_v1;

/* Where it is, for a recorder: survives strip. Version 1, the size, the place in the thread-local storage of this file. */
#define TIMESINK_TAGS_NOTE \
	".pushsection .note.timesink, \"aG\", @note, timesink_tags_note, comdat\n" \
	".balign 4\n.long 9, 16, 1\n.asciz \"timesink\"\n.balign 4\n" \
	".long 1, 784\n.quad timesink_tags_v1@dtpoff\n.popsection\n"
__asm__(TIMESINK_TAGS_NOTE);

#define TIMESINK_TAG_BARRIER() __asm__ volatile("" ::: "memory")

static inline void timesink_tag_push(const char *text)
{
	timesink_tags *tags = &timesink_tags_v1;
	uint64_t current = tags->current, mark = current >> 16;
	uint32_t at = (uint32_t)(current & 0xffff), length, i;

	if (tags->levels < TIMESINK_TAG_LEVELS)
		tags->outer[tags->levels] = current;
	if (tags->levels++ >= TIMESINK_TAG_LEVELS || !text)
		return;
	if (at > TIMESINK_TAG_BYTES)
		at = TIMESINK_TAG_BYTES;
	if (at && at < TIMESINK_TAG_BYTES)
		tags->path[at++] = '/';
	length = (uint32_t)strnlen(text, TIMESINK_TAG_BYTES - at);
	memcpy(tags->path + at, text, length);
	mark += at;
	for (i = 0; i < length; i += 8) {
		uint64_t piece = 0;

		memcpy(&piece, tags->path + at + i, length - i < 8 ? length - i : 8);
		mark = (mark ^ piece) * 0x9e3779b97f4a7c15u;
		mark ^= mark >> 29;
	}
	if (!length)
		return;
	TIMESINK_TAG_BARRIER();
	tags->current = mark << 16 | (at + length);
	TIMESINK_TAG_BARRIER();
}

static inline void timesink_tag_pop(void)
{
	timesink_tags *tags = &timesink_tags_v1;

	if (tags->levels && --tags->levels < TIMESINK_TAG_LEVELS) {
		TIMESINK_TAG_BARRIER();
		tags->current = tags->outer[tags->levels];
		TIMESINK_TAG_BARRIER();
	}
}

static inline void timesink_tag_copy(timesink_tags *to, const timesink_tags *from)
{
	uint32_t levels = from->levels < TIMESINK_TAG_LEVELS ? from->levels : TIMESINK_TAG_LEVELS;
	uint32_t length = (uint32_t)(from->current & 0xffff);

	to->current = 0;
	TIMESINK_TAG_BARRIER();
	memcpy(to->path, from->path, length < TIMESINK_TAG_BYTES ? length : TIMESINK_TAG_BYTES);
	memcpy(to->outer, from->outer, levels * sizeof(from->outer[0]));
	to->levels = from->levels;
	TIMESINK_TAG_BARRIER();
	to->current = from->current;
	TIMESINK_TAG_BARRIER();
}

/* The tags of this thread, to be resumed on any thread. */
static inline timesink_tags timesink_tag_capture(void)
{
	timesink_tags held;

	timesink_tag_copy(&held, &timesink_tags_v1);
	return held;
}

/* This thread has these tags from here on, and no others. */
static inline void timesink_tag_resume(const timesink_tags *held)
{
	timesink_tag_copy(&timesink_tags_v1, held);
}

/* This thread has no tag from here on. */
static inline void timesink_tag_clear(void)
{
	timesink_tags_v1.current = 0;
	timesink_tags_v1.levels = 0;
}

#ifdef __cplusplus
}

namespace timesink {
/* A tag as long as it lives. */
class tag {
public:
	explicit tag(const char *text) { timesink_tag_push(text); }
	~tag() { timesink_tag_pop(); }
	tag(const tag &) = delete;
	tag &operator=(const tag &) = delete;
};
} // namespace timesink
#endif

#define TIMESINK_TAG_NAME_(line) timesink_tag_at_##line
#define TIMESINK_TAG_NAME(line) TIMESINK_TAG_NAME_(line)
/* A tag up to the end of the block. */
#define TIMESINK_TAG(text) \
	__attribute__((cleanup(timesink_tag_scope_end), unused)) int TIMESINK_TAG_NAME(__LINE__) = (timesink_tag_push(text), 0)

static inline void timesink_tag_scope_end(int *unused)
{
	(void)unused;
	timesink_tag_pop();
}

#endif
