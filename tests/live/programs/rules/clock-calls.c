/* The CPU time of a thread, which needs a system call, read for each item (fires), or once for all of them (silent). */
#include "rule.h"

#define ITEMS 400000

__attribute__((noinline)) static uint64_t item(uint64_t seed)
{
	for (int i = 0; i < 200; i++)
		seed = seed * 6364136223846793005u + 1442695040888963407u;
	return seed;
}

int main(int argc, char **argv)
{
	int each = fires(argc, argv);
	uint64_t spent = 0, sum = 1, before = now_ns(CLOCK_THREAD_CPUTIME_ID);
	for (int i = 0; i < ITEMS; i++) {
		uint64_t began = each ? now_ns(CLOCK_THREAD_CPUTIME_ID) : 0;
		sum = item(sum);
		spent += each ? now_ns(CLOCK_THREAD_CPUTIME_ID) - began : 0;
	}
	spent = each ? spent : now_ns(CLOCK_THREAD_CPUTIME_ID) - before;
	printf("%d %d\n", sum != 0, spent != 0);
	return 0;
}
