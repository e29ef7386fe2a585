/* Stacks that are hard to come by: outside of calls, over a large frame, from a signal's own stack.
 * outside FOLDER runs all of it in the first thread, and the same in another:
 *
 *   in_fault    touches pages of a file that are not in memory
 *   in_crowd    runs for 300 ms on a processor on which somebody else wants to run as well
 *   in_wide     sleeps, called by a function with 400 kB of variables
 *   on_signal   sleeps, on a stack that was made for signals
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KEPT __attribute__((noinline, noclone))
#define MS 1000000L
#define PAGE 4096
#define PAGES 1024

static const char *folder;
static volatile unsigned long sink;

static void sleep_ms(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * MS};
    nanosleep(&t, NULL);
}

static void spin_ms(long ms) {
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        for (int i = 0; i < 100000; i++)
            sink = sink * 31 + i;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / MS < ms);
}

KEPT static void in_fault(void) {
    static char page[PAGE];
    char path[4096];
    snprintf(path, sizeof path, "%s/cold", folder);
    int fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0600);
    if (fd < 0)
        exit(1);
    for (int i = 0; i < PAGES; i++)
        if (write(fd, page, sizeof page) != sizeof page)
            exit(1);
    fsync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    char *cold = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
    if (cold == MAP_FAILED)
        exit(1);
    /* Without this the kernel would read neighbours as well. */
    madvise(cold, PAGES * PAGE, MADV_RANDOM);
    for (int i = 0; i < PAGES; i++)
        sink += cold[(i * 37 % PAGES) * PAGE];
    munmap(cold, PAGES * PAGE);
    close(fd);
}

static void pin(const cpu_set_t *set) {
    if (sched_setaffinity(0, sizeof *set, set) != 0)
        exit(1);
}

KEPT static void in_crowd(void) {
    cpu_set_t before, one;
    sched_getaffinity(0, sizeof before, &before);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    pin(&one);
    pid_t other = fork();
    if (other == 0) {
        spin_ms(300);
        _exit(0);
    }
    spin_ms(300);
    waitpid(other, NULL, 0);
    pin(&before);
}

KEPT static void in_wide(void) {
    sleep_ms(10);
    sink++;
}

KEPT static void wide(void) {
    volatile char room[400 << 10];
    room[0] = 1;
    in_wide();
    sink += room[sizeof room - 1];
}

static void on_signal(int number) {
    sleep_ms(10);
    sink += number;
}

KEPT static void in_signal(void) {
    static char room[64 << 10];
    stack_t stack = {.ss_sp = room, .ss_size = sizeof room}, before;
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    sigaltstack(&stack, &before);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    sigaltstack(&before, NULL);
    sink++;
}

KEPT static void outer(void) {
    in_fault();
    in_crowd();
    wide();
    in_signal();
    sink++;
}

KEPT static void *thread_main(void *nothing) {
    outer();
    sink++;
    return nothing;
}

int main(int argc, char **argv) {
    pthread_t thread;
    folder = argc > 1 ? argv[1] : ".";
    outer();
    if (pthread_create(&thread, NULL, thread_main, NULL) != 0)
        return 1;
    pthread_join(thread, NULL);
    return 0;
}
