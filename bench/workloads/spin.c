/* Computes, and calls nobody: spin [MILLIONS-OF-STEPS]
 *
 * A fixed amount of work, not a fixed time, so that what a recorder costs shows as time.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    uint64_t steps = (argc > 1 ? strtoull(argv[1], NULL, 10) : 2100) * 1000000u;
    uint64_t x = 88172645463325252u;
    for (uint64_t i = 0; i < steps; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    /* Printed so that the loop cannot be left out. */
    printf("%llu\n", (unsigned long long)x);
    return 0;
}
