/* A program without shared libraries: static
 *
 * By construction it sleeps 5 x 20 ms and prints the truth to stderr. Linked with -static, so there
 * is no dynamic loader and no libc.so to attach anything to.
 */
#define _GNU_SOURCE
#include "measure.h"

int main(void) {
    struct phase p;
    phase_begin(&p, "sleep");
    for (int i = 0; i < 5; i++) {
        phase_enter(&p);
        sleep_ns(20 * MS);
        phase_leave(&p);
    }
    phase_end(&p);
    phase_print(stderr, &p);
    return 0;
}
