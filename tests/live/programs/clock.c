/* Asks what time it is, for a third of a second and without a system call: the kernel's library in the
 * process (the vdso) tells. main -> asks -> clock_gettime.
 */
#define _GNU_SOURCE
#include "measure.h"

static volatile uint64_t latest;

static __attribute__((noinline)) void asks(void) {
    uint64_t start = now();
    do {
        latest = now();
    } while (latest - start < 333 * MS);
}

int main(void) {
    asks();
    return latest == 0;
}
