/* Messages that each need 256 kB for a moment: mapped for each and unmapped again (fires), or mapped once (silent). */
#include "rule.h"
#include <sys/mman.h>

enum { SIZE = 256 << 10, PAGE = 4096 };

__attribute__((noinline)) static unsigned char *take(void)
{
	unsigned char *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(memory != MAP_FAILED);
	return memory;
}

__attribute__((noinline)) static void decode(unsigned char *message, int round)
{
	for (size_t at = 0; at < SIZE; at += PAGE)
		message[at] = (unsigned char)(at + (size_t)round);
	compute_us(20);
}

int main(int argc, char **argv)
{
	int anew = fires(argc, argv);
	unsigned char *kept = anew ? NULL : take();
	for (int round = 0; round < 10000; round++) {
		unsigned char *message = anew ? take() : kept;
		decode(message, round);
		if (anew)
			must(munmap(message, SIZE) == 0);
	}
	return 0;
}
