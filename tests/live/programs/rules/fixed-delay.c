/* Twenty pauses of the same length (fires), or of twenty lengths that somebody reckoned (silent). */
#include "rule.h"

__attribute__((noinline)) static void settle(uint64_t us)
{
	sleep_us(us);
}

int main(int argc, char **argv)
{
	int same = fires(argc, argv);
	for (int pause = 0; pause < 20; pause++) {
		compute_us(500);
		settle(same ? 40000 : 10000 + (uint64_t)(pause * 7 % 20) * 3000);
	}
	return 0;
}
