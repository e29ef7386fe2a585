/* A child that has been woken as its parent ends, but has not run yet: woken
 *
 * By construction both run on one processor. The child naps, so that it finds the processor idle and runs at once, again and
 * again. Then it waits over 300 ms for a byte from its parent, which then ends at once.
 * The child does not run any more for the next 100 ms: another child has the processor, at real-time priority. As root.
 */
#define _GNU_SOURCE
#include "measure.h"

#include <sched.h>

static void at_priority(int priority) {
    struct sched_param wanted = {priority};
    if (sched_setscheduler(0, SCHED_FIFO, &wanted) != 0)
        die("sched_setscheduler");
}

int main(void) {
    cpu_set_t first;
    pid_t parent = getpid();
    int ends[2];
    char byte = 'x';

    CPU_ZERO(&first);
    CPU_SET(0, &first);
    if (sched_setaffinity(0, sizeof(first), &first) != 0 || pipe(ends) != 0)
        die("setting up");
    if (fork() == 0) {
        for (int i = 0; i < 10; i++)
            sleep_ns(1 * MS);
        _exit(read(ends[0], &byte, 1) != 1);
    }
    /* It waits by now. */
    usleep(50000);
    at_priority(2);
    if (fork() == 0) {
        uint64_t until;
        at_priority(1);
        while (getppid() == parent)
            ;
        until = now() + 100000000;
        while (now() < until)
            ;
        _exit(0);
    }
    usleep(300000);
    return write(ends[1], &byte, 1) != 1;
}
