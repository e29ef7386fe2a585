/* A thread that loses the processor as it is about to block: about-to-block N
 *
 * By construction one thread sleeps for as short a time as can be, over and over. Another, of real-time priority and on the same
 * processor, wakes up N times (default 300), and computes for 1 ms. Where the kernel can be preempted, it comes now and then between
 * the moment in which the first has said that it would block and the moment in which it does. Needs the right to real-time priority.
 */
#define _GNU_SOURCE
#include "measure.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/prctl.h>

static atomic_bool ended;
static long rounds = 300;

static void *interrupts(void *unused) {
    (void)unused;
    for (long i = 0; i < rounds; i++) {
        sleep_ns(MS);
        uint64_t until = now() + MS;
        while (now() < until) {
        }
    }
    atomic_store(&ended, true);
    return unused;
}

int main(int argc, char **argv) {
    if (argc > 1)
        rounds = atol(argv[1]);
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    if (sched_setaffinity(0, sizeof first, &first) < 0)
        die("sched_setaffinity");
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    pthread_attr_setschedparam(&attributes, &(struct sched_param){.sched_priority = 1});
    pthread_t other;
    if (pthread_create(&other, &attributes, interrupts, NULL) != 0)
        die("pthread_create");
    prctl(PR_SET_TIMERSLACK, 1);
    while (!atomic_load(&ended))
        sleep_ns(1);
    pthread_join(other, NULL);
    return 0;
}
