/* Tags as they should not be: too long, too many, and memory in which anything stands. It ends by itself. */
#define _GNU_SOURCE
#include "../../../sdk/c/timesink.h"
#include "measure.h"
#include <pthread.h>

/* Writes over the tags of another thread while that is looked at. */
static timesink_tags *volatile theirs;
static volatile int over;

static void *disturb(void *unused) {
    uint64_t seed = 88172645463325252u;
    while (!over) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        if (theirs) {
            theirs->current = seed;
            theirs->path[seed % TIMESINK_TAG_BYTES] = (char)(seed >> 8);
        }
    }
    return unused;
}

static void *disturbed(void *unused) {
    theirs = timesink_tags_here();
    for (int i = 0; i < 400; i++)
        sleep_ns(MS / 2);
    over = 1;
    return unused;
}

/* Places that lead anywhere, and pointers to anything: `after/all` must be found all the same. */
static void mislead(void) {
#ifdef TIMESINK_BY_DISTANCE
    static const uint64_t odd[] = {0, 1, 8, 4096, 0x7fffffffffff, 0xffff800000000000, ~0ull, ~7ull};
    timesink_tags_place place = timesink_tags_place_v2;
    timesink_tags *tags = timesink_tags_v2;
    for (int i = 0; i < 64; i++) {
        timesink_tags_place_v2.way = i & 1 ? TIMESINK_BY_DISTANCE : TIMESINK_BY_MODULE;
        timesink_tags_place_v2.distance = (int64_t)odd[i % 8];
        timesink_tags_place_v2.module = odd[i / 8];
        sleep_ns(MS / 2);
        timesink_tags_place_v2.way = odd[i % 8];
        sleep_ns(MS / 2);
        timesink_tags_place_v2 = place;
        timesink_tags_v2 = (timesink_tags *)odd[i % 8];
        sleep_ns(MS / 2);
        timesink_tags_v2 = tags;
    }
#endif
}

int main(void) {
    static char longest[65536];
    pthread_t one, two;
    memset(longest, 'l', sizeof longest - 1);
    {
        TIMESINK_TAG(longest);
        for (int i = 0; i < 20; i++)
            sleep_ns(MS);
        TIMESINK_TAG("beyond");
        sleep_ns(MS);
    }
    for (int i = 0; i < 1000; i++)
        timesink_tag_push("d");
    sleep_ns(5 * MS);
    for (int i = 0; i < 1000; i++)
        timesink_tag_pop();
    static const uint64_t odd[] = {~0ull, 0xffff, 0x101, 0x100, 1, 0x7fff000000000010ull, 0xdead00000000ull};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        timesink_tags_here()->current = odd[i];
        sleep_ns(2 * MS);
    }
    timesink_tag_clear();
    if (pthread_create(&one, NULL, disturbed, NULL) || pthread_create(&two, NULL, disturb, NULL))
        die("threads");
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    mislead();
    {
        TIMESINK_TAG("after/all");
        for (int i = 0; i < 50; i++)
            sleep_ns(MS);
    }
    return 0;
}
