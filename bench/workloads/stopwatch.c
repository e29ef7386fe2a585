/* Times a command from inside a recording: stopwatch FILE COMMAND [ARGUMENT...]
 *
 * A recorder is given this program as its target, so that the time that the workload takes can be
 * told from the time that the recorder needs to start, to stop and to write. Writes the
 * nanoseconds from before the fork to after the wait to FILE, and exits as the command did.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv) {
    int status;
    if (argc < 3) {
        fprintf(stderr, "usage: stopwatch FILE COMMAND [ARGUMENT...]\n");
        return 2;
    }
    long long started = now();
    pid_t child = fork();
    if (child == 0) {
        execvp(argv[2], argv + 2);
        perror(argv[2]);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("stopwatch");
        return 2;
    }
    long long took = now() - started;
    FILE *file = fopen(argv[1], "we");
    if (!file || fprintf(file, "%lld\n", took) < 0 || fclose(file) != 0) {
        perror(argv[1]);
        return 2;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
