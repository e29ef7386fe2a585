/* Runs on a processor and waits in every kind of call, each time through functions of known names:
 * main -> outer -> middle -> in_KIND. Built without frame pointers. A thread of its own does the same
 * through thread_main.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KEPT __attribute__((noinline, noclone))
#define MS 1000000L

static const char *folder;
static volatile unsigned long sink;

static void sleep_ms(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * MS};
    nanosleep(&t, NULL);
}

/* After a while, somebody else: a child that writes a byte. */
static void in_a_while(int fd) {
    pid_t child = fork();
    if (child == 0) {
        sleep_ms(30);
        if (write(fd, "x", 1) != 1)
            _exit(1);
        _exit(0);
    }
}

KEPT static void in_cpu(void) {
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        for (int i = 0; i < 100000; i++)
            sink = sink * 31 + i;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / MS < 300);
}

KEPT static void in_sleep(void) {
    sleep_ms(30);
    sink++;
}

KEPT static void in_pipe(void) {
    int ends[2];
    char byte;
    if (pipe(ends) != 0)
        exit(1);
    in_a_while(ends[1]);
    if (read(ends[0], &byte, 1) != 1)
        exit(1);
    sink++;
}

KEPT static void in_socket(void) {
    int ends[2];
    char byte;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        exit(1);
    in_a_while(ends[1]);
    if (recv(ends[0], &byte, 1, 0) != 1)
        exit(1);
    sink++;
}

KEPT static void in_poll(void) {
    struct pollfd nothing = {-1, 0, 0};
    poll(&nothing, 1, 30);
    sink++;
}

KEPT static void in_child(void) {
    pid_t child = fork();
    if (child == 0) {
        sleep_ms(30);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    sink++;
}

KEPT static void in_condition(void) {
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 30 * MS;
    if (until.tv_nsec >= 1000 * MS) {
        until.tv_nsec -= 1000 * MS;
        until.tv_sec++;
    }
    pthread_mutex_lock(&lock);
    pthread_cond_timedwait(&never, &lock, &until);
    pthread_mutex_unlock(&lock);
    sink++;
}

KEPT static void in_flush(void) {
    char path[4096];
    snprintf(path, sizeof path, "%s/flushed", folder);
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    if (fd < 0 || write(fd, path, sizeof path) < 0 || fsync(fd) != 0)
        exit(1);
    close(fd);
    sink++;
}

KEPT static void middle(void (*kind)(void)) {
    char room[512];
    memset(room, (int)sink, sizeof room);
    kind();
    sink += room[sink % sizeof room];
}

KEPT static void outer(void) {
    middle(in_cpu);
    middle(in_sleep);
    middle(in_pipe);
    middle(in_socket);
    middle(in_poll);
    middle(in_child);
    middle(in_condition);
    middle(in_flush);
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
    while (wait(NULL) > 0)
        ;
    return 0;
}
