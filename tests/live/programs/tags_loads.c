/* Has tags of its own and calls a library that has some, too: `tags_loads LIBRARY MS`. What it had itself is said as `tag PATH NS`. */
#define _GNU_SOURCE
#include "../../../sdk/c/timesink.h"
#include "measure.h"
#include <dlfcn.h>

static uint64_t before, after;

static void spin(uint64_t ns) {
    volatile uint64_t sum = 0;
    for (uint64_t end = now() + ns; now() < end;)
        for (int i = 0; i < 1000; i++)
            sum += (uint64_t)i;
}

#ifdef LINKED
int tags_main(int argc, char **argv);

static int call(const char *library, char **argv, uint64_t ns) {
    (void)library;
    sleep_ns(ns);
#else
static int call(const char *library, char **argv, uint64_t ns) {
    int (*tags_main)(int, char **);
    void *loaded = dlopen(library, RTLD_NOW);
    if (!loaded) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    *(void **)&tags_main = dlsym(loaded, "tags_main");
    sleep_ns(ns);
#endif
    TIMESINK_TAG("program");
    {
        TIMESINK_TAG("before");
        uint64_t begun = now();
        spin(100 * MS);
        before = now() - begun;
    }
    int status = tags_main(1, argv);
    {
        TIMESINK_TAG("after");
        uint64_t begun = now();
        spin(100 * MS);
        for (int i = 0; i < 10; i++)
            sleep_ns(5 * MS);
        after = now() - begun;
    }
    return status;
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    int status = call(argv[1], argv, (uint64_t)atoi(argv[2]) * MS);
    printf("tag program/before %llu\ntag program/after %llu\n", (unsigned long long)before, (unsigned long long)after);
    return status;
}
