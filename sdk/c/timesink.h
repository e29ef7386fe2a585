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
 *
 * In a program the tags of a thread are thread-local. In code that is compiled for a shared library (-fPIC) only a pointer to
 * them is: what a library has of those that is found without a call has to be small, or it cannot be loaded by dlopen. They are
 * allocated with the first tag of a thread, which therefore is not for a signal handler, and freed as the thread ends. Programs
 * and libraries that include this have tags of their own, each for each thread.
 */
#ifndef TIMESINK_TAGS_H
#define TIMESINK_TAGS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__PIC__) && !defined(__PIE__) && !defined(__GLIBC__)
#include <pthread.h>
#endif

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

#define TIMESINK_TAG_BARRIER() __asm__ volatile("" ::: "memory")

#if defined(__PIC__) && !defined(__PIE__)

/* How a recorder comes from a thread to the pointer to its tags, once a thread has some. Without dynamic relocations. */
typedef struct timesink_tags_place {
	uint64_t way; /* one of the two below; 0: no thread has tags yet */
	int64_t distance; /* from where the FS register points, or in the storage of the module */
	uint64_t module; /* whose storage it is */
} timesink_tags_place;

#define TIMESINK_BY_DISTANCE 0x31657265685f7374u /* "ts_here1" */
#define TIMESINK_BY_MODULE 0x31656c75646f6d73u /* "smodule1" */

__attribute__((weak, visibility("hidden"))) timesink_tags_place timesink_tags_place_v2;

/* musl loads no library by dlopen that wants to find thread-local storage without a call. */
#ifdef __GLIBC__
#define TIMESINK_TAGS_MODEL , tls_model("initial-exec")
#else
#define TIMESINK_TAGS_MODEL
#endif

/* NULL before the first tag, TIMESINK_TAGS_OVER after the thread's end. */
__attribute__((weak, visibility("hidden") TIMESINK_TAGS_MODEL)) __thread timesink_tags *timesink_tags_v2;
#define TIMESINK_TAGS_OVER ((timesink_tags *)1)

/* Where the place is, for a recorder: survives strip. Version 2, the size, how far it is from here. */
#define TIMESINK_TAGS_NOTE \
	".pushsection .note.timesink, \"aG\", @note, timesink_tags_note_v2, comdat\n" \
	".balign 4\n.long 9, 16, 1\n.asciz \"timesink\"\n.balign 4\n" \
	".long 2, 784\n.quad timesink_tags_place_v2 - .\n.popsection\n"
__asm__(TIMESINK_TAGS_NOTE);

static inline uintptr_t timesink_thread_pointer(void)
{
	uintptr_t pointer;

	__asm__("movq %%fs:0, %0" : "=r"(pointer));
	return pointer;
}

#ifdef __GLIBC__
extern int __cxa_thread_atexit_impl(void (*end)(void *), void *with, void *library);
extern void *__dso_handle __attribute__((visibility("hidden")));

static inline void timesink_tags_find(timesink_tags_place *place)
{
	place->distance = (int64_t)((uintptr_t)&timesink_tags_v2 - timesink_thread_pointer());
	TIMESINK_TAG_BARRIER();
	place->way = TIMESINK_BY_DISTANCE;
}
#else
/* musl: behind the first word are the places of the modules' storage, the number of modules first. Ours is the nearest below. */
static inline void timesink_tags_find(timesink_tags_place *place)
{
	uintptr_t *modules = ((uintptr_t **)timesink_thread_pointer())[1], own = (uintptr_t)&timesink_tags_v2;
	uintptr_t module, best = 0;

	for (module = 1; module <= modules[0]; module++)
		if (modules[module] <= own && (!best || modules[module] > modules[best]))
			best = module;
	if (!best)
		return;
	place->distance = (int64_t)(own - modules[best]);
	place->module = best;
	TIMESINK_TAG_BARRIER();
	place->way = TIMESINK_BY_MODULE;
}
#endif

/* A thread ends. Tags that others of its clean-up begin after that are nowhere. */
static inline void timesink_tags_end(void *tags)
{
	timesink_tags_v2 = TIMESINK_TAGS_OVER;
	TIMESINK_TAG_BARRIER();
	free(tags);
}

#ifdef __GLIBC__
static inline int timesink_tags_end_later(timesink_tags *tags)
{
	/* The library is not unloaded before that. */
	return __cxa_thread_atexit_impl(timesink_tags_end, tags, &__dso_handle);
}
#else
__attribute__((weak, visibility("hidden"))) pthread_key_t timesink_tags_key;
__attribute__((weak, visibility("hidden"))) pthread_once_t timesink_tags_once = PTHREAD_ONCE_INIT;

static inline void timesink_tags_make_key(void)
{
	if (pthread_key_create(&timesink_tags_key, timesink_tags_end))
		timesink_tags_key = (pthread_key_t)-1;
}

static inline int timesink_tags_end_later(timesink_tags *tags)
{
	if (pthread_once(&timesink_tags_once, timesink_tags_make_key))
		return -1;
	return timesink_tags_key == (pthread_key_t)-1 ? -1 : pthread_setspecific(timesink_tags_key, tags);
}
#endif

/* Gives this thread tags; NULL if it cannot have any. */
__attribute__((noinline, cold, unused)) static timesink_tags *timesink_tags_begin(void)
{
	timesink_tags *tags;

	if (timesink_tags_v2 == TIMESINK_TAGS_OVER)
		return NULL;
	tags = (timesink_tags *)calloc(1, sizeof(*tags));
	if (!tags)
		return NULL;
	if (timesink_tags_end_later(tags)) {
		free(tags);
		return NULL;
	}
	timesink_tags_v2 = tags;
	TIMESINK_TAG_BARRIER();
	if (!timesink_tags_place_v2.way)
		timesink_tags_find(&timesink_tags_place_v2);
	return tags;
}

/* The tags of this thread, or NULL: it has had none yet. */
static inline timesink_tags *timesink_tags_had(void)
{
	timesink_tags *tags = timesink_tags_v2;

	return tags == TIMESINK_TAGS_OVER ? NULL : tags;
}

static inline timesink_tags *timesink_tags_here(void)
{
	timesink_tags *tags = timesink_tags_had();

	return __builtin_expect(!!tags, 1) ? tags : timesink_tags_begin();
}

#else

/* One for each thread, shared by all files of a program that include this. */
__attribute__((weak, visibility("hidden"))) __thread timesink_tags timesink_tags_v1;

/* Where it is, for a recorder: survives strip. Version 1, the size, the place in the thread-local storage of this file. */
#define TIMESINK_TAGS_NOTE \
	".pushsection .note.timesink, \"aG\", @note, timesink_tags_note, comdat\n" \
	".balign 4\n.long 9, 16, 1\n.asciz \"timesink\"\n.balign 4\n" \
	".long 1, 784\n.quad timesink_tags_v1@dtpoff\n.popsection\n"
__asm__(TIMESINK_TAGS_NOTE);

static inline timesink_tags *timesink_tags_had(void)
{
	return &timesink_tags_v1;
}

static inline timesink_tags *timesink_tags_here(void)
{
	return &timesink_tags_v1;
}

#endif

/* The mark of a path that goes on, after one with this mark, from `at` on. */
static inline uint64_t timesink_tag_mark(uint64_t mark, const char *path, uint32_t at, uint32_t length)
{
	uint32_t i;

	mark += at;
	for (i = 0; i < length; i += 8) {
		uint64_t piece = 0;

		memcpy(&piece, path + at + i, length - i < 8 ? length - i : 8);
		mark = (mark ^ piece) * 0x9e3779b97f4a7c15u;
		mark ^= mark >> 29;
	}
	return mark;
}

/* Puts a text behind a path that has room for TIMESINK_TAG_BYTES; returns `current` of what comes out. */
static inline uint64_t timesink_tag_join(char *path, uint64_t current, const char *text)
{
	uint32_t at = (uint32_t)(current & 0xffff), length;
	const char *end;

	if (at > TIMESINK_TAG_BYTES)
		at = TIMESINK_TAG_BYTES;
	if (at && at < TIMESINK_TAG_BYTES)
		path[at++] = '/';
	end = (const char *)memchr(text, 0, TIMESINK_TAG_BYTES - at);
	length = end ? (uint32_t)(end - text) : TIMESINK_TAG_BYTES - at;
	if (!length)
		return current;
	memcpy(path + at, text, length);
	return timesink_tag_mark(current >> 16, path, at, length) << 16 | (at + length);
}

static inline void timesink_tag_push(const char *text)
{
	timesink_tags *tags = timesink_tags_here();
	uint64_t current;

	if (!tags)
		return;
	current = tags->current;
	if (tags->levels < TIMESINK_TAG_LEVELS)
		tags->outer[tags->levels] = current;
	if (tags->levels++ >= TIMESINK_TAG_LEVELS || !text)
		return;
	current = timesink_tag_join(tags->path, current, text);
	TIMESINK_TAG_BARRIER();
	tags->current = current;
	TIMESINK_TAG_BARRIER();
}

static inline void timesink_tag_pop(void)
{
	timesink_tags *tags = timesink_tags_had();

	if (tags && tags->levels && --tags->levels < TIMESINK_TAG_LEVELS) {
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
	timesink_tags *tags = timesink_tags_had(), held;

	held.current = 0;
	held.levels = 0;
	if (tags)
		timesink_tag_copy(&held, tags);
	return held;
}

/* This thread has these tags from here on, and no others. */
static inline void timesink_tag_resume(const timesink_tags *held)
{
	timesink_tags *tags = timesink_tags_here();

	if (tags)
		timesink_tag_copy(tags, held);
}

/* This thread has no tag from here on. */
static inline void timesink_tag_clear(void)
{
	timesink_tags *tags = timesink_tags_had();

	if (tags) {
		tags->current = 0;
		tags->levels = 0;
	}
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
