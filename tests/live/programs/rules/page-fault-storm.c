/* Images of 64 MB, each in memory that is asked for anew and given back (fires), or all in the same (silent). */
#include "rule.h"
#include <sys/mman.h>

enum { SIZE = 64 << 20, PAGE = 4096 };

__attribute__((noinline)) static unsigned char *take(void)
{
	unsigned char *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(memory != MAP_FAILED);
	/* As small pages whatever the machine's settings are. */
	madvise(memory, SIZE, MADV_NOHUGEPAGE);
	return memory;
}

__attribute__((noinline)) static void draw(unsigned char *image, int round)
{
	for (size_t at = 0; at < SIZE; at += PAGE)
		image[at] = (unsigned char)(at + (size_t)round);
}

int main(int argc, char **argv)
{
	int anew = fires(argc, argv);
	unsigned char *kept = anew ? NULL : take();
	for (int round = 0; round < 40; round++) {
		unsigned char *image = anew ? take() : kept;
		draw(image, round);
		compute_us(10000);
		if (anew)
			must(munmap(image, SIZE) == 0);
	}
	return 0;
}
