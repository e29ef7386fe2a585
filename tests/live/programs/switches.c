/* Pairs of threads that hand a token to and fro: switches SECONDS PLACES [futex|pipe] [RATE]
 *
 * PLACES is a list of pairs: `0,1` is a pair with both threads on processor 0 and one with both on
 * processor 1; `0-1` is a pair across the two. By construction each side is switched out once in a
 * round trip, so there are two switches for each: voluntary where it blocks, and involuntary where
 * the thread that it wakes takes its processor before it can. RATE is the round trips per second of
 * a pair, default as many as there can be. Prints to stderr the round trips, and the switches that
 * the kernel counted for the process.
 */
#define _GNU_SOURCE
#include "measure.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>

struct pair {
    int places[2];
    int to[2][2];       /* a pipe to each side */
    uint32_t token[2];  /* a futex for each side: 1 when it has the token */
    uint64_t rounds, rate;
    pthread_t threads[2];
};

static int use_pipe;
static int stop;

static void pin(int processor) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        die("sched_setaffinity");
}

static void give(struct pair *p, int side) {
    if (use_pipe) {
        if (write(p->to[side][1], "x", 1) != 1)
            die("write");
        return;
    }
    __atomic_store_n(&p->token[side], 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &p->token[side], FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void take(struct pair *p, int side) {
    char byte;
    if (use_pipe) {
        if (read(p->to[side][0], &byte, 1) != 1)
            die("read");
        return;
    }
    while (!__atomic_exchange_n(&p->token[side], 0, __ATOMIC_ACQUIRE))
        syscall(SYS_futex, &p->token[side], FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static void *follower(void *with) {
    struct pair *p = with;
    pin(p->places[1]);
    for (;;) {
        take(p, 1);
        int last = __atomic_load_n(&stop, __ATOMIC_RELAXED);
        give(p, 0);
        if (last)
            return NULL;
    }
}

/* The follower looks at `stop` between taking and giving, and we look after taking back, so that
 * we never give to one who has gone: when it saw the stop, we see it too. */
static void *leader(void *with) {
    struct pair *p = with;
    pin(p->places[0]);
    uint64_t started = now();
    for (;;) {
        give(p, 1);
        take(p, 0);
        p->rounds++;
        if (__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
            give(p, 1); /* The follower may not have seen it; if it has, nobody takes this. */
            return NULL;
        }
        if (p->rate && p->rounds % (p->rate / 100 + 1) == 0) {
            uint64_t due = started + p->rounds * 1000000000u / p->rate;
            uint64_t time = now();
            if (due > time)
                sleep_ns(due - time);
        }
    }
}

static void start_pair(struct pair *p, const char *place, uint64_t rate) {
    int count = sscanf(place, "%d-%d", &p->places[0], &p->places[1]);
    if (count < 1)
        die("places");
    if (count == 1)
        p->places[1] = p->places[0];
    p->rate = rate;
    if (pipe2(p->to[0], O_CLOEXEC) != 0 || pipe2(p->to[1], O_CLOEXEC) != 0)
        die("pipe2");
    if (pthread_create(&p->threads[0], NULL, leader, p) != 0 ||
        pthread_create(&p->threads[1], NULL, follower, p) != 0)
        die("pthread_create");
}

int main(int argc, char **argv) {
    static struct pair pairs[64];
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    char *places = strdup(argc > 2 ? argv[2] : "0");
    use_pipe = argc > 3 && strcmp(argv[3], "pipe") == 0;
    uint64_t rate = argc > 4 ? strtoull(argv[4], NULL, 10) : 0, rounds = 0;
    int count = 0;
    uint64_t started = now();
    for (char *place = strtok(places, ","); place && count < 64; place = strtok(NULL, ","))
        start_pair(&pairs[count++], place, rate);
    sleep_ns((uint64_t)(seconds * 1e9));
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < count; i++) {
        pthread_join(pairs[i].threads[0], NULL);
        pthread_join(pairs[i].threads[1], NULL);
        rounds += pairs[i].rounds;
    }
    double took = (double)(now() - started) / 1e9;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    long switches = usage.ru_nvcsw + usage.ru_nivcsw;
    fprintf(stderr,
            "{\"phase\":\"switches\",\"tid\":%d,\"rounds\":%llu,\"switches\":%ld,\"voluntary\":%ld,"
            "\"seconds\":%.6f,\"per_second\":%.0f}\n",
            getpid(), (unsigned long long)rounds, switches, usage.ru_nvcsw, took, (double)switches / took);
    return 0;
}
