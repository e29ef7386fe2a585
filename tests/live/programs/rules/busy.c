/* A program that computes (fires), and one that waits for a moment that it was told (silent). */
#include "rule.h"

__attribute__((noinline)) static void crunch(uint64_t us)
{
	uint64_t end = now_ns(CLOCK_THREAD_CPUTIME_ID) + us * 1000;
	volatile uint64_t sum = 0;
	while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		for (int i = 0; i < 200000; i++)
			sum += (uint64_t)i * (uint64_t)i;
}

int main(int argc, char **argv)
{
	int busy = fires(argc, argv);
	crunch(busy ? 600000 : 60000);
	if (!busy)
		wait_us(540000);
	return 0;
}
