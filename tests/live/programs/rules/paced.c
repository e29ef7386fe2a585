/* Work of different lengths, in rounds that begin every 30 ms (fires), or with a pause of one length after each (silent). */
#include "rule.h"

__attribute__((noinline)) static void until_next(uint64_t due_ns)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC);
	if (now < due_ns)
		sleep_us((due_ns - now) / 1000);
}

int main(int argc, char **argv)
{
	int paced = fires(argc, argv);
	uint64_t start = now_ns(CLOCK_MONOTONIC);
	for (uint64_t round = 1; round <= 50; round++) {
		compute_us(1000 + round * 7 % 11 * 1200);
		if (paced)
			until_next(start + round * 30000000);
		else
			sleep_us(20000);
	}
	return 0;
}
