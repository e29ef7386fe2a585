/* Messages of 400 kB in the heap, whose end is given back to the system after each (fires, with malloc's threshold
 * for that set to 128 kB, so that it does not learn), or kept for the next (silent). */
#include "rule.h"
#include <malloc.h>

enum { SIZE = 100 << 10, PARTS = 4, PAGE = 4096 };

__attribute__((noinline)) static void decode(int round)
{
	unsigned char *parts[PARTS];
	for (int part = 0; part < PARTS; part++) {
		parts[part] = malloc(SIZE);
		must(parts[part]);
		for (size_t at = 0; at < SIZE; at += PAGE)
			parts[part][at] = (unsigned char)(at + (size_t)round);
	}
	for (int part = 0; part < PARTS; part++)
		free(parts[part]);
	compute_us(20);
}

int main(int argc, char **argv)
{
	mallopt(M_TRIM_THRESHOLD, fires(argc, argv) ? 128 << 10 : 64 << 20);
	for (int round = 0; round < 10000; round++)
		decode(round);
	return 0;
}
