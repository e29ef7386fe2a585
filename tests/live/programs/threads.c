/* N threads that start and end: threads N [AT-ONCE]
 *
 * By construction N threads are created besides the main thread (default 2000), at most AT-ONCE at
 * the same time (default 1). Each adds one to a counter and ends. Prints to stderr how many ran.
 */
#define _GNU_SOURCE
#include "measure.h"

#include <pthread.h>

static long ran;

static void *body(void *unused) {
    __atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);
    return unused;
}

int main(int argc, char **argv) {
    long wanted = argc > 1 ? atol(argv[1]) : 2000;
    long at_once = argc > 2 ? atol(argv[2]) : 1;
    if (at_once < 1 || at_once > 1024)
        at_once = 1;
    pthread_t threads[1024];
    uint64_t started = now();
    for (long done = 0; done < wanted; done += at_once) {
        long batch = wanted - done < at_once ? wanted - done : at_once;
        for (long i = 0; i < batch; i++)
            if (pthread_create(&threads[i], NULL, body, NULL) != 0)
                die("pthread_create");
        for (long i = 0; i < batch; i++)
            pthread_join(threads[i], NULL);
    }
    fprintf(stderr, "{\"phase\":\"threads\",\"tid\":%d,\"count\":%ld,\"ns\":%llu}\n", getpid(), ran,
            (unsigned long long)(now() - started));
    return 0;
}
