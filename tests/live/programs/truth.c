/* A program whose waits are known by construction: truth [OUT] [DATA-FILE]
 *
 * Each phase below runs in a thread of its own, named like the phase, one after another, while the
 * main thread joins it. In that thread the phase makes one kind of blocking call and nothing else
 * that blocks, except for hand-shakes over pipes that are said. Each call is timed by the thread
 * that makes it. At the end the sums are printed as JSON lines to OUT (default: stderr).
 *
 *   sleep         20 clock_nanosleep of 10 ms
 *   pipe          20 one-byte reads from a child process that sleeps 10 ms before each write
 *   lock           5 pthread_mutex_lock, each while the thread "holder" sleeps 50 ms with the mutex;
 *                    before each a read from a pipe that tells that the holder has it
 *   child          1 waitpid for a child that sleeps 100 ms
 *   flush         50 fsync, each after a write of 512 bytes, of DATA-FILE (default: truth.data)
 *   neighbour      1 stretch of 500 ms, pinned to processor 0, that wants it all, while a process
 *                    "neighbour" wants it too: ns - cpu_ns is the time ready without a processor
 *   spin           1 stretch of 300 ms on a processor
 *   poll-expired   5 poll with a time-out of 30 ms and nothing to come
 *   poll-woken     5 poll of two pipes without time-out, woken over one after 30 ms; then a read that does
 *                    not block
 *   condition      5 pthread_cond_wait, signalled after 40 ms by the thread "signaller"
 *   day-clock      5 pthread_cond_timedwait that nobody signals, each until 30 ms later by the clock of the day
 *   unix           20 reads of a reply over a unix socket pair; the thread "server" sleeps 5 ms each
 *   tcp            20 the same over TCP on the loopback
 *   fault          4096 pages of a file of 16 MB that is not in memory are touched, each once and
 *                    in a scattered order; count is what the kernel calls major faults, and of
 *                    them it slept for so many, which depends on how fast the disk is. Left out,
 *                    with a reason, where the file stays in memory
 *   join           all of these, as the main thread sees them: one pthread_join each
 */
#define _GNU_SOURCE
#include "measure.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

static const char *data_path = "truth.data";

static void name_thread(const char *name) { prctl(PR_SET_NAME, name); }

static void make_pipe(int ends[2]) {
    if (pipe2(ends, O_CLOEXEC) != 0)
        die("pipe2");
}

static void put(int fd) {
    if (write(fd, "x", 1) != 1)
        die("write");
}

static void get(int fd) {
    char byte;
    if (read(fd, &byte, 1) != 1)
        die("read");
}

static pthread_t start(void *(*body)(void *), void *with) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, with) != 0)
        die("pthread_create");
    return thread;
}

static pid_t start_process(void) {
    pid_t child = fork();
    if (child < 0)
        die("fork");
    return child;
}

static void sleep_phase(struct phase *p) {
    for (int i = 0; i < 20; i++) {
        phase_enter(p);
        sleep_ns(10 * MS);
        phase_leave(p);
    }
}

static void pipe_phase(struct phase *p) {
    int ends[2];
    make_pipe(ends);
    pid_t child = start_process();
    if (child == 0) {
        name_thread("partner");
        for (int i = 0; i < 20; i++) {
            sleep_ns(10 * MS);
            put(ends[1]);
        }
        _exit(0);
    }
    snprintf(p->extra, sizeof p->extra, ",\"partner\":%d", child);
    for (int i = 0; i < 20; i++) {
        phase_enter(p);
        get(ends[0]);
        phase_leave(p);
    }
    waitpid(child, NULL, 0);
}

static struct {
    pthread_mutex_t mutex;
    int held[2], done[2];
    pid_t holder;
} lock = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void *holder(void *unused) {
    name_thread("holder");
    lock.holder = gettid();
    for (int i = 0; i < 5; i++) {
        pthread_mutex_lock(&lock.mutex);
        put(lock.held[1]);
        sleep_ns(50 * MS);
        pthread_mutex_unlock(&lock.mutex);
        get(lock.done[0]);
    }
    return unused;
}

static void lock_phase(struct phase *p) {
    make_pipe(lock.held);
    make_pipe(lock.done);
    pthread_t other = start(holder, NULL);
    for (int i = 0; i < 5; i++) {
        get(lock.held[0]);
        phase_enter(p);
        pthread_mutex_lock(&lock.mutex);
        phase_leave(p);
        pthread_mutex_unlock(&lock.mutex);
        put(lock.done[1]);
    }
    snprintf(p->extra, sizeof p->extra, ",\"holder\":%d", lock.holder);
    pthread_join(other, NULL);
}

static void child_phase(struct phase *p) {
    pid_t child = start_process();
    if (child == 0) {
        name_thread("child");
        sleep_ns(100 * MS);
        _exit(0);
    }
    snprintf(p->extra, sizeof p->extra, ",\"child\":%d", child);
    phase_enter(p);
    waitpid(child, NULL, 0);
    phase_leave(p);
}

static void flush_phase(struct phase *p) {
    char row[512];
    memset(row, 'r', sizeof row);
    int fd = open(data_path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
    if (fd < 0)
        die(data_path);
    for (int i = 0; i < 50; i++) {
        if (write(fd, row, sizeof row) != (ssize_t)sizeof row)
            die("write");
        phase_enter(p);
        if (fsync(fd) != 0)
            die("fsync");
        phase_leave(p);
    }
    close(fd);
}

static void pin(int processor) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        die("sched_setaffinity");
}

static void neighbour_phase(struct phase *p) {
    int ends[2];
    make_pipe(ends);
    pid_t child = start_process();
    if (child == 0) {
        name_thread("neighbour");
        pin(0);
        put(ends[1]);
        for (;;) {
        }
    }
    pin(0);
    get(ends[0]);
    snprintf(p->extra, sizeof p->extra, ",\"neighbour\":%d", child);
    phase_enter(p);
    uint64_t until = p->entered + 500 * MS;
    while (now() < until) {
    }
    phase_leave(p);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void spin_phase(struct phase *p) {
    phase_enter(p);
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) - p->entered_cpu < 300 * MS) {
    }
    phase_leave(p);
}

static void poll_expired_phase(struct phase *p) {
    int ends[2];
    make_pipe(ends);
    struct pollfd entry = {.fd = ends[0], .events = POLLIN};
    for (int i = 0; i < 5; i++) {
        phase_enter(p);
        if (poll(&entry, 1, 30) != 0)
            die("poll");
        phase_leave(p);
    }
}

static void day_clock_phase(struct phase *p) {
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 5; i++) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 30 * MS;
        until.tv_sec += until.tv_nsec / (1000 * MS);
        until.tv_nsec %= 1000 * MS;
        phase_enter(p);
        pthread_cond_timedwait(&never, &lock, &until);
        phase_leave(p);
    }
    pthread_mutex_unlock(&lock);
}

static int poke[2], poked[2];

static void *poker(void *unused) {
    name_thread("poker");
    for (int i = 0; i < 5; i++) {
        get(poked[0]);
        sleep_ns(30 * MS);
        put(poke[1]);
    }
    return unused;
}

static void poll_woken_phase(struct phase *p) {
    make_pipe(poke);
    make_pipe(poked);
    pthread_t other = start(poker, NULL);
    int silent[2];
    make_pipe(silent);
    struct pollfd entries[] = {{.fd = silent[0], .events = POLLIN}, {.fd = poke[0], .events = POLLIN}};
    snprintf(p->extra, sizeof p->extra, ",\"fd\":%d", poke[0]);
    for (int i = 0; i < 5; i++) {
        put(poked[1]);
        phase_enter(p);
        if (poll(entries, 2, -1) != 1)
            die("poll");
        phase_leave(p);
        get(poke[0]);
    }
    pthread_join(other, NULL);
}

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    int rounds, waiting[2];
} gate = {.mutex = PTHREAD_MUTEX_INITIALIZER, .condition = PTHREAD_COND_INITIALIZER};

static void *signaller(void *unused) {
    name_thread("signaller");
    for (int i = 0; i < 5; i++) {
        get(gate.waiting[0]);
        sleep_ns(40 * MS);
        pthread_mutex_lock(&gate.mutex);
        gate.rounds++;
        pthread_mutex_unlock(&gate.mutex);
        /* Outside the lock, so that the one who wakes never has to wait for the lock as well. */
        pthread_cond_signal(&gate.condition);
    }
    return unused;
}

static void condition_phase(struct phase *p) {
    make_pipe(gate.waiting);
    pthread_t other = start(signaller, NULL);
    for (int i = 0; i < 5; i++) {
        pthread_mutex_lock(&gate.mutex);
        put(gate.waiting[1]);
        phase_enter(p);
        while (gate.rounds == i)
            pthread_cond_wait(&gate.condition, &gate.mutex);
        phase_leave(p);
        pthread_mutex_unlock(&gate.mutex);
    }
    pthread_join(other, NULL);
}

static void *server(void *with) {
    name_thread("server");
    int fd = *(int *)with;
    for (int i = 0; i < 20; i++) {
        get(fd);
        sleep_ns(5 * MS);
        put(fd);
    }
    return NULL;
}

static void converse(struct phase *p, int client, int served) {
    pthread_t other = start(server, &served);
    for (int i = 0; i < 20; i++) {
        put(client);
        phase_enter(p);
        get(client);
        phase_leave(p);
    }
    pthread_join(other, NULL);
    close(client);
    close(served);
}

static void unix_phase(struct phase *p) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        die("socketpair");
    converse(p, ends[0], ends[1]);
}

static void tcp_phase(struct phase *p) {
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof place;
    int one = 1;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&place, size) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&place, &size) != 0 ||
        connect(client, (struct sockaddr *)&place, size) != 0)
        die("tcp");
    int served = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(served, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    snprintf(p->extra, sizeof p->extra, ",\"port\":%d", ntohs(place.sin_port));
    converse(p, client, served);
    close(listener);
}

#define PAGE 4096
#define PAGES 4096

static struct rusage used(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage;
}

/* A file of PAGES pages that has just been written to the disk and dropped from memory. */
static const volatile char *cold_file(const char *path) {
    static char page[PAGE];
    static unsigned char resident[PAGES];
    int fd = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0644);
    if (fd < 0)
        die(path);
    for (int i = 0; i < PAGES; i++) {
        memset(page, i + 1, sizeof page);
        if (write(fd, page, sizeof page) != (ssize_t)sizeof page)
            die("write");
    }
    if (fsync(fd) != 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
        die("fsync");
    char *map = mmap(NULL, (size_t)PAGE * PAGES, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        die("mmap");
    /* Without this the kernel would read neighbours as well, and there would be fewer faults. */
    madvise(map, (size_t)PAGE * PAGES, MADV_RANDOM);
    if (mincore(map, (size_t)PAGE * PAGES, resident) != 0)
        return NULL;
    for (int i = 0; i < PAGES; i++)
        if (resident[i] & 1)
            return NULL;
    return map;
}

static void fault_phase(struct phase *p) {
    char path[4096];
    snprintf(path, sizeof path, "%s.cold", data_path);
    const volatile char *map = cold_file(path);
    if (!map) {
        snprintf(p->extra, sizeof p->extra, ",\"skipped\":\"the file stays in memory\"");
        unlink(path);
        return;
    }
    struct rusage before = used(), after;
    uint64_t sum = 0;
    for (unsigned i = 0; i < PAGES; i++) {
        size_t scattered = (size_t)(i * 1663u % PAGES);
        phase_enter(p);
        sum += (unsigned char)map[scattered * PAGE];
        phase_leave(p);
    }
    after = used();
    p->count = (uint64_t)(after.ru_majflt - before.ru_majflt);
    snprintf(p->extra, sizeof p->extra, ",\"slept\":%ld,\"sum\":%llu", after.ru_nvcsw - before.ru_nvcsw,
             (unsigned long long)sum);
    unlink(path);
}

static const struct step {
    const char *name;
    void (*body)(struct phase *);
} steps[] = {
    {"sleep", sleep_phase},
    {"pipe", pipe_phase},
    {"lock", lock_phase},
    {"child", child_phase},
    {"flush", flush_phase},
    {"neighbour", neighbour_phase},
    {"spin", spin_phase},
    {"poll-expired", poll_expired_phase},
    {"poll-woken", poll_woken_phase},
    {"condition", condition_phase},
    {"day-clock", day_clock_phase},
    {"unix", unix_phase},
    {"tcp", tcp_phase},
    {"fault", fault_phase},
};

#define STEPS (sizeof steps / sizeof *steps)

static struct phase phases[STEPS];

static void *run_step(void *with) {
    size_t index = (size_t)(const struct step *)with - (size_t)steps;
    index /= sizeof *steps;
    name_thread(steps[index].name);
    phase_begin(&phases[index], steps[index].name);
    steps[index].body(&phases[index]);
    phase_end(&phases[index]);
    return NULL;
}

int main(int argc, char **argv) {
    uint64_t started = now();
    FILE *out = truth_file(argc > 1 ? argv[1] : NULL);
    if (argc > 2)
        data_path = argv[2];
    struct phase join;
    phase_begin(&join, "join");
    for (size_t i = 0; i < STEPS; i++) {
        pthread_t thread = start(run_step, (void *)&steps[i]);
        phase_enter(&join);
        pthread_join(thread, NULL);
        phase_leave(&join);
    }
    phase_end(&join);
    unlink(data_path);
    for (size_t i = 0; i < STEPS; i++)
        phase_print(out, &phases[i]);
    phase_print(out, &join);
    fprintf(out, "{\"phase\":\"process\",\"tid\":%d,\"count\":1,\"ns\":%llu}\n", getpid(),
            (unsigned long long)(now() - started));
    return fclose(out) == 0 ? 0 : 1;
}
