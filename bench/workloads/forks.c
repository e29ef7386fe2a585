/* Starts /bin/true, one after another: forks [TIMES]
 *
 * With fork and exec as a shell does it, each waited for.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    long times = argc > 1 ? atol(argv[1]) : 500;
    for (long i = 0; i < times; i++) {
        pid_t child = fork();
        if (child == 0) {
            execl("/bin/true", "true", (char *)NULL);
            _exit(127);
        }
        if (child < 0 || waitpid(child, NULL, 0) != child) {
            perror("forks");
            return 1;
        }
    }
    return 0;
}
