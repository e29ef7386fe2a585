/* N processes that start and end: forks N
 *
 * By construction N children (default 20000) are forked one after another; each ends at once with
 * _exit and is waited for. Prints to stderr how many there were.
 */
#define _GNU_SOURCE
#include "measure.h"

#include <sys/wait.h>

int main(int argc, char **argv) {
    long wanted = argc > 1 ? atol(argv[1]) : 20000, ended = 0;
    for (long i = 0; i < wanted; i++) {
        pid_t child = fork();
        if (child < 0)
            die("fork");
        if (child == 0)
            _exit(0);
        if (waitpid(child, NULL, 0) == child)
            ended++;
    }
    fprintf(stderr, "{\"phase\":\"forks\",\"tid\":%d,\"count\":%ld}\n", getpid(), ended);
    return 0;
}
