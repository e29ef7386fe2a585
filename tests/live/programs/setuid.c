/* Gives up root and goes on: setuid [PROGRAM [ARGUMENT...]]
 *
 * By construction it sleeps 5 x 10 ms as it was started, becomes user and group 65534 (nobody),
 * sleeps 5 x 20 ms, prints the truth to stderr and executes PROGRAM (default /bin/true) in the same
 * process. Not started as root it keeps its user, and says so.
 */
#define _GNU_SOURCE
#include "measure.h"

#include <grp.h>

static void sleeps(struct phase *p, const char *name, uint64_t ns) {
    phase_begin(p, name);
    for (int i = 0; i < 5; i++) {
        phase_enter(p);
        sleep_ns(ns);
        phase_leave(p);
    }
    phase_end(p);
}

int main(int argc, char **argv) {
    struct phase before, after;
    char *nothing[] = {"/bin/true", NULL};
    int root = geteuid() == 0;
    sleeps(&before, "before", 10 * MS);
    if (root && (setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0))
        die("setuid");
    sleeps(&after, "after", 20 * MS);
    snprintf(after.extra, sizeof after.extra, ",\"uid\":%d,\"changed\":%s", getuid(),
             root ? "true" : "false");
    phase_print(stderr, &before);
    phase_print(stderr, &after);
    char **command = argc > 1 ? argv + 1 : nothing;
    execvp(command[0], command);
    die(command[0]);
}
