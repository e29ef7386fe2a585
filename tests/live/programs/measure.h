/* What the live test programs share: clocks, and phases that count what the program itself saw. */
#ifndef MEASURE_H
#define MEASURE_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000L

static inline uint64_t clock_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t now(void) { return clock_ns(CLOCK_MONOTONIC); }

static inline void sleep_ns(uint64_t ns) {
    struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) != 0) {
    }
}

static inline void die(const char *what) {
    perror(what);
    exit(1);
}

/* How long this thread has wanted a processor and had none: the kernel's figure, not ours. */
static inline uint64_t run_delay(void) {
    char text[96] = "";
    unsigned long long ran = 0, waited = 0;
    int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    if (read(fd, text, sizeof text - 1) > 0 && sscanf(text, "%llu %llu", &ran, &waited) != 2)
        waited = 0;
    close(fd);
    return waited;
}

/* One kind of blocking call, made by one thread. `ns` is the wall time inside the calls; of it
 * `cpu_ns` was spent on a processor. `ready_ns` is the kernel's figure for the whole phase. So the
 * time blocked is ns - cpu_ns - ready_ns. */
struct phase {
    const char *name;
    pid_t tid;
    uint64_t count, ns, cpu_ns, ready_ns;
    uint64_t entered, entered_cpu;
    char extra[96];
};

static inline void phase_begin(struct phase *p, const char *name) {
    memset(p, 0, sizeof *p);
    p->name = name;
    p->tid = gettid();
    p->ready_ns = run_delay();
}

static inline void phase_enter(struct phase *p) {
    p->entered_cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    p->entered = now();
}

/* The clocks are read in the same order as on entry, so that what reading them takes is in both sums
 * alike: with thousands of calls it would be milliseconds. What has slept comes back to cold caches, and
 * in an emulator the way from one clock to the next takes 10 to 50 microseconds longer then (measured as
 * the phase's CPU time falling that much short of the thread's), so it goes that way once before. */
static inline void phase_leave(struct phase *p) {
    (void)clock_ns(CLOCK_THREAD_CPUTIME_ID);
    (void)now();
    p->cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - p->entered_cpu;
    p->ns += now() - p->entered;
    p->count++;
}

static inline void phase_end(struct phase *p) { p->ready_ns = run_delay() - p->ready_ns; }

static inline void phase_print(FILE *out, const struct phase *p) {
    fprintf(out, "{\"phase\":\"%s\",\"tid\":%d,\"count\":%llu,\"ns\":%llu,\"cpu_ns\":%llu,\"ready_ns\":%llu%s}\n",
            p->name, p->tid, (unsigned long long)p->count, (unsigned long long)p->ns,
            (unsigned long long)p->cpu_ns, (unsigned long long)p->ready_ns, p->extra);
}

/* The truth goes to a file if one is named, else to stderr. */
static inline FILE *truth_file(const char *path) {
    FILE *out = path && *path && strcmp(path, "-") != 0 ? fopen(path, "we") : stderr;
    if (!out)
        die(path);
    return out;
}

#endif
