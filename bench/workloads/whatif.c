/* Small programs that are slow in a known way, and the same without it: whatif CASE slow|fixed
 *
 * Work is a number of turns of a loop, so that both forms do the same of it on the same machine. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static bool fixed;

#define WORK(name)                                                                                 \
    __attribute__((noipa)) static void name(double ms) {                                        \
        for (volatile long turn = (long)(ms * 2600000); turn > 0; turn--)                           \
            ;                                                                                      \
    }
WORK(work_a)
WORK(work_b)
WORK(work_c)
WORK(work_rest)

static void nap(double ms) {
    struct timespec t = {(time_t)(ms / 1000), (long)(ms * 1e6) % 1000000000};
    nanosleep(&t, NULL);
}

static void check(bool good, const char *what) {
    if (!good) {
        perror(what);
        exit(2);
    }
}

static void *start(void *(*run)(void *), void *argument) {
    pthread_t *thread = malloc(sizeof *thread);
    check(thread && pthread_create(thread, NULL, run, argument) == 0, "thread");
    return thread;
}

static void join(void *thread) {
    pthread_join(*(pthread_t *)thread, NULL);
}

static void get(int fd) {
    char byte;
    check(read(fd, &byte, 1) == 1, "read");
}

static void put(int fd) {
    check(write(fd, "x", 1) == 1, "write");
}

/* ---------------------------------------------------------------- one thread */

static void cpu(void) {
    for (int i = 0; i < 40; i++) {
        work_a(fixed ? 2 : 8);
        work_rest(2);
    }
}

static void flushes(int rows, int together) {
    char row[100];
    int fd = open("rows.tmp", O_CREAT | O_TRUNC | O_WRONLY, 0600);
    check(fd >= 0, "rows.tmp");
    memset(row, 'r', sizeof row);
    for (int i = 1; i <= rows; i++) {
        work_rest(0.1);
        check(write(fd, row, sizeof row) == sizeof row, "write");
        if (together && i % together == 0)
            check(fdatasync(fd) == 0, "fdatasync");
    }
    close(fd);
}

static void flush_each(void) {
    flushes(800, fixed ? 0 : 1);
}

static void flush_batch(void) {
    flushes(800, fixed ? 10 : 1);
}

static void delays(void) {
    for (int i = 0; i < 30; i++) {
        work_rest(3);
        if (!fixed)
            nap(7);
    }
}

static void direct_reads(void) {
    void *page;
    int fd = open("data.tmp", O_CREAT | O_RDWR, 0600);
    check(fd >= 0 && posix_memalign(&page, 4096, 4096) == 0, "data.tmp");
    memset(page, 'd', 4096);
    for (int i = 0; i < 64; i++)
        check(write(fd, page, 4096) == 4096, "write");
    fsync(fd);
    int direct = open("data.tmp", O_RDONLY | O_DIRECT);
    check(direct >= 0, "O_DIRECT");
    for (int i = 0; i < 1500; i++) {
        work_rest(0.03);
        if (!fixed)
            check(pread(direct, page, 4096, (i * 37 % 64) * 4096) == 4096, "pread");
    }
}

static void loads(void) {
    for (int i = 0; i < 12; i++) {
        if (i == 0 || !fixed)
            work_a(12);
        work_rest(15);
    }
}

/* ---------------------------------------------------------------- threads */

static void *run_a(void *ms) {
    work_a(*(double *)ms);
    return NULL;
}

static void *run_b(void *ms) {
    work_b(*(double *)ms);
    return NULL;
}

static void two(double a, double b) {
    void *first = start(run_a, &a), *second = start(run_b, &b);
    join(first);
    join(second);
}

/* Nothing is bought: the other one takes as long. */
static void two_alike(void) {
    two(fixed ? 50 : 250, 250);
}

static void two_unlike(void) {
    two(fixed ? 100 : 350, 180);
}

static void four(void) {
    double a = fixed ? 1 : 150, b = 150;
    void *threads[] = {start(run_a, &a), start(run_b, &b), start(run_b, &b), start(run_b, &b)};
    for (int i = 0; i < 4; i++)
        join(threads[i]);
}

/* Two threads on one processor; the fixed form may use two. */
static void one_processor(void) {
    double ms = 150;
    if (!fixed) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(0, &one);
        check(sched_setaffinity(0, sizeof one, &one) == 0, "affinity");
    }
    void *first = start(run_a, &ms), *second = start(run_b, &ms);
    join(first);
    join(second);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *locks(void *how) {
    for (int i = 0; i < 40; i++) {
        if (!fixed)
            pthread_mutex_lock(&lock);
        how ? nap(3) : work_a(3);
        if (!fixed)
            pthread_mutex_unlock(&lock);
        work_b(1);
    }
    return NULL;
}

static void lock_work(void) {
    void *first = start(locks, NULL), *second = start(locks, NULL);
    join(first);
    join(second);
}

static void lock_nap(void) {
    void *threads[3];
    for (int i = 0; i < 3; i++)
        threads[i] = start(locks, &fixed);
    for (int i = 0; i < 3; i++)
        join(threads[i]);
}

/* The lock's holder sleeps in it; without the sleep there is little to wait for. */
static void *naps_in_lock(void *nothing) {
    (void)nothing;
    for (int i = 0; i < 30; i++) {
        pthread_mutex_lock(&lock);
        if (!fixed)
            nap(4);
        work_a(0.5);
        pthread_mutex_unlock(&lock);
        work_b(1);
    }
    return NULL;
}

static void lock_held(void) {
    void *first = start(naps_in_lock, NULL), *second = start(naps_in_lock, NULL);
    join(first);
    join(second);
}

static pthread_barrier_t barrier;

static void *rounds_a(void *ms) {
    for (int i = 0; i < 60; i++) {
        work_a(*(double *)ms);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void *rounds_b(void *ms) {
    for (int i = 0; i < 60; i++) {
        work_b(*(double *)ms * (i % 2 ? 0.9 : 1.1));
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void meet(double a, double b) {
    pthread_barrier_init(&barrier, NULL, 2);
    void *first = start(rounds_a, &a), *second = start(rounds_b, &b);
    join(first);
    join(second);
}

static void barrier_unlike(void) {
    meet(fixed ? 1 : 6, 3);
}

static void barrier_alike(void) {
    meet(fixed ? 1 : 4, 4);
}

/* A background thread writes while the main one computes: it does not matter what the disk takes. */
static void *flushes_behind(void *nothing) {
    (void)nothing;
    flushes(200, fixed ? 0 : 1);
    return NULL;
}

static void flush_behind(void) {
    void *thread = start(flushes_behind, NULL);
    for (int i = 0; i < 40; i++)
        work_a(10);
    join(thread);
}

/* ---------------------------------------------------------------- queues */

static int work_left, in_work;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER, empty = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;

static void *takes(void *nothing) {
    (void)nothing;
    for (;;) {
        pthread_mutex_lock(&queue);
        while (work_left == 0)
            pthread_cond_wait(&more, &queue);
        bool end = work_left < 0;
        work_left -= !end;
        in_work += !end;
        pthread_mutex_unlock(&queue);
        if (end)
            return NULL;
        work_a(fixed ? 1 : 4);
        work_b(1);
        pthread_mutex_lock(&queue);
        if (--in_work == 0 && work_left == 0)
            pthread_cond_signal(&empty);
        pthread_mutex_unlock(&queue);
    }
}

static void hand_out(bool poll) {
    void *first = start(takes, NULL), *second = start(takes, NULL);
    for (int i = 0; i < 120; i++) {
        pthread_mutex_lock(&queue);
        work_left++;
        pthread_cond_signal(&more);
        pthread_mutex_unlock(&queue);
        work_rest(0.05);
    }
    pthread_mutex_lock(&queue);
    while (work_left > 0 || in_work > 0) {
        if (poll) {
            pthread_mutex_unlock(&queue);
            nap(1);
            pthread_mutex_lock(&queue);
        } else {
            pthread_cond_wait(&empty, &queue);
        }
    }
    work_left = -1;
    pthread_cond_broadcast(&more);
    pthread_mutex_unlock(&queue);
    join(first);
    join(second);
}

static void pool(void) {
    hand_out(false);
}

/* The end is waited for by looking now and then. */
static void polled(void) {
    hand_out(true);
}

static int stage[2][2];

static void *makes(void *ms) {
    for (int i = 0; i < 80; i++) {
        work_a(*(double *)ms);
        put(stage[0][1]);
    }
    return NULL;
}

static void line(double make, double use) {
    check(pipe2(stage[0], O_CLOEXEC) == 0, "pipe");
    void *maker = start(makes, &make);
    for (int i = 0; i < 80; i++) {
        get(stage[0][0]);
        work_b(use);
    }
    join(maker);
}

static void pipe_maker(void) {
    line(fixed ? 1 : 5, 2);
}

static void pipe_user(void) {
    line(1, fixed ? 2 : 5);
}

/* Nothing is bought: who uses it takes as long. */
static void pipe_alike(void) {
    line(fixed ? 1 : 4, 4);
}

static void *passes(void *ms) {
    for (int i = 0; i < 80; i++) {
        get(stage[0][0]);
        work_c(*(double *)ms);
        put(stage[1][1]);
    }
    return NULL;
}

static void pipe_three(void) {
    double make = 1, pass = fixed ? 1 : 5;
    check(pipe2(stage[0], O_CLOEXEC) == 0 && pipe2(stage[1], O_CLOEXEC) == 0, "pipe");
    void *maker = start(makes, &make), *middle = start(passes, &pass);
    for (int i = 0; i < 80; i++) {
        get(stage[1][0]);
        work_b(1.5);
    }
    join(maker);
    join(middle);
}

static int ping, pong;

static void *answers(void *nothing) {
    uint64_t one;
    (void)nothing;
    for (int i = 0; i < 100; i++) {
        check(read(ping, &one, 8) == 8, "read");
        work_a(fixed ? 0.5 : 2);
        one = 1;
        check(write(pong, &one, 8) == 8, "write");
    }
    return NULL;
}

static void events(void) {
    uint64_t one = 1;
    ping = eventfd(0, EFD_CLOEXEC), pong = eventfd(0, EFD_CLOEXEC);
    void *other = start(answers, NULL);
    for (int i = 0; i < 100; i++) {
        work_rest(1);
        one = 1;
        check(write(ping, &one, 8) == 8, "write");
        check(read(pong, &one, 8) == 8, "read");
    }
    join(other);
}

/* ---------------------------------------------------------------- processes */

static int served(int port, int requests, bool naps) {
    int connection = accept(port, NULL, NULL);
    check(connection >= 0, "accept");
    for (int i = 0; i < requests; i++) {
        get(connection);
        if (!naps)
            work_a(fixed ? 0.5 : 2.5);
        else if (!fixed)
            nap(3);
        work_b(0.3);
        put(connection);
    }
    return 0;
}

static void calls(bool naps) {
    const int requests = 100;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int port = socket(AF_INET, SOCK_STREAM, 0);
    check(port >= 0 && bind(port, (void *)&address, length) == 0 && listen(port, 1) == 0, "listen");
    check(getsockname(port, (void *)&address, &length) == 0, "port");
    if (fork() == 0)
        _exit(served(port, requests, naps));
    int client = socket(AF_INET, SOCK_STREAM, 0);
    check(connect(client, (void *)&address, length) == 0, "connect");
    for (int i = 0; i < requests; i++) {
        put(client);
        get(client);
        work_rest(0.5);
    }
    wait(NULL);
}

static void server_work(void) {
    calls(false);
}

static void server_nap(void) {
    calls(true);
}

static void spawn(void) {
    for (int i = 0; i < 150; i++) {
        if (!fixed) {
            pid_t child = vfork();
            if (child == 0) {
                execl("/bin/true", "true", (char *)NULL);
                _exit(127);
            }
            waitpid(child, NULL, 0);
        }
        work_rest(0.5);
    }
}

__attribute__((noipa)) static void child_a(void) {
    nap(fixed ? 10 : 300);
    work_rest(5);
}

__attribute__((noipa)) static void child_b(void) {
    nap(120);
    work_rest(5);
}

static void children(void) {
    if (fork() == 0) {
        child_a();
        _exit(0);
    }
    if (fork() == 0) {
        child_b();
        _exit(0);
    }
    while (wait(NULL) > 0)
        ;
}

static void *asks(void *nothing) {
    (void)nothing;
    nap(40);
    return NULL;
}

/* Five things outside, one after the other or together. */
static void fetches(void) {
    void *threads[5];
    for (int i = 0; i < 5; i++) {
        if (fixed)
            threads[i] = start(asks, NULL);
        else
            asks(NULL);
        work_rest(2);
    }
    for (int i = 0; fixed && i < 5; i++)
        join(threads[i]);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"cpu", cpu},
    {"flush-each", flush_each},
    {"flush-batch", flush_batch},
    {"delays", delays},
    {"direct-reads", direct_reads},
    {"loads", loads},
    {"two-alike", two_alike},
    {"two-unlike", two_unlike},
    {"four", four},
    {"one-processor", one_processor},
    {"lock-work", lock_work},
    {"lock-nap", lock_nap},
    {"lock-held", lock_held},
    {"barrier-unlike", barrier_unlike},
    {"barrier-alike", barrier_alike},
    {"flush-behind", flush_behind},
    {"pool", pool},
    {"polled", polled},
    {"pipe-maker", pipe_maker},
    {"pipe-user", pipe_user},
    {"pipe-alike", pipe_alike},
    {"pipe-three", pipe_three},
    {"events", events},
    {"server-work", server_work},
    {"server-nap", server_nap},
    {"spawn", spawn},
    {"children", children},
    {"fetches", fetches},
};

int main(int argc, char **argv) {
    for (size_t i = 0; argc == 3 && i < sizeof cases / sizeof *cases; i++)
        if (strcmp(argv[1], cases[i].name) == 0) {
            fixed = strcmp(argv[2], "fixed") == 0;
            cases[i].run();
            return 0;
        }
    fprintf(stderr, "usage: whatif CASE slow|fixed\n");
    return 2;
}
