/* The ways to make and to change a process: births
 *
 * By construction the main thread forks one child and vforks another, which both end at once, and
 * creates a thread. That thread, which is not the leader of its process, executes `sleep 0.05`, and
 * so ends the main thread and takes over its id. Prints the ids to stderr before that.
 */
#define _GNU_SOURCE
#include "measure.h"

#include <pthread.h>
#include <sys/wait.h>

static void *body(void *unused) {
    fprintf(stderr, "{\"phase\":\"executes\",\"tid\":%d,\"pid\":%d}\n", gettid(), getpid());
    execlp("sleep", "sleep", "0.05", (char *)NULL);
    die("sleep");
    return unused;
}

int main(void) {
    pthread_t thread;
    pid_t child = fork();
    if (child == 0)
        _exit(3);
    waitpid(child, NULL, 0);
    fprintf(stderr, "{\"phase\":\"fork\",\"tid\":%d}\n", child);
    child = vfork();
    if (child == 0)
        _exit(4);
    waitpid(child, NULL, 0);
    fprintf(stderr, "{\"phase\":\"vfork\",\"tid\":%d}\n", child);
    if (pthread_create(&thread, NULL, body, NULL) != 0)
        die("pthread_create");
    for (;;)
        pause();
}
