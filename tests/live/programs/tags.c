/* Tags, and by this program's own clocks how long each thread had which: `tag PATH NS`, of all threads together. */
#define _GNU_SOURCE
#include "../../../sdk/c/timesink.h"
#include "measure.h"
#include <pthread.h>

enum { SCRUB, CRC, LOG, WAITED, HANDED, PATHS };
static const char *const PATH[PATHS] = {"storage/scrub", "storage/scrub/crc", "storage/log", "storage/log/wait", "request/reply"};
static uint64_t had[PATHS];
static timesink_tags held;
static int handed[2], done[2];

static void spin(uint64_t ns) {
    volatile uint64_t sum = 0;
    for (uint64_t end = now() + ns; now() < end;)
        for (int i = 0; i < 1000; i++)
            sum += (uint64_t)i;
}

static void storage(void) {
    TIMESINK_TAG("storage");
    {
        TIMESINK_TAG("scrub");
        uint64_t begun = now(), inner;
        spin(450 * MS);
        inner = now();
        {
            TIMESINK_TAG("crc");
            spin(600 * MS);
        }
        had[CRC] += now() - inner;
        had[SCRUB] += inner - begun;
    }
    {
        TIMESINK_TAG("log");
        uint64_t begun = now(), inner;
        spin(300 * MS);
        inner = now();
        {
            TIMESINK_TAG("wait");
            for (int i = 0; i < 20; i++)
                sleep_ns(10 * MS);
        }
        had[WAITED] += now() - inner;
        had[LOG] += inner - begun;
    }
}

/* Goes on with what the other thread began. */
static void *reply(void *unused) {
    char byte;
    if (read(handed[0], &byte, 1) != 1)
        die("read");
    timesink_tag_resume(&held);
    uint64_t begun = now();
    spin(300 * MS);
    sleep_ns(100 * MS);
    had[HANDED] += now() - begun;
    timesink_tag_pop();
    timesink_tag_pop();
    if (write(done[1], "x", 1) != 1)
        die("write");
    return unused;
}

int main(int argc, char **argv) {
    pthread_t other;
    if (argc > 1)
        sleep_ns((uint64_t)atoi(argv[1]) * MS);
    if (pipe(handed) || pipe(done) || pthread_create(&other, NULL, reply, NULL))
        die("set up");
    storage();
    timesink_tag_push("request");
    timesink_tag_push("reply");
    held = timesink_tag_capture();
    timesink_tag_clear();
    char byte;
    if (write(handed[1], "x", 1) != 1 || read(done[0], &byte, 1) != 1)
        die("hand over");
    pthread_join(other, NULL);
    for (int i = 0; i < PATHS; i++)
        printf("tag %s %llu\n", PATH[i], (unsigned long long)had[i]);
    return 0;
}
