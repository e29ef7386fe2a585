/* Two processes on processor 0 hand one byte to and fro over two pipes: pingpong [ROUND-TRIPS]
 *
 * Each hand-over is a write, a read that blocks and a switch, and little else: the worst that can
 * happen to a recorder of switches.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void die(const char *what) {
    perror(what);
    exit(1);
}

int main(int argc, char **argv) {
    long rounds = argc > 1 ? atol(argv[1]) : 200000;
    int to[2], from[2];
    char byte = 'x';
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        die("sched_setaffinity");
    if (pipe(to) != 0 || pipe(from) != 0)
        die("pipe");
    pid_t child = fork();
    if (child < 0)
        die("fork");
    for (long i = 0; i < rounds; i++) {
        if (child == 0) {
            if (read(to[0], &byte, 1) != 1 || write(from[1], &byte, 1) != 1)
                die("echo");
        } else if (write(to[1], &byte, 1) != 1 || read(from[0], &byte, 1) != 1) {
            die("ask");
        }
    }
    if (child != 0)
        waitpid(child, NULL, 0);
    return 0;
}
