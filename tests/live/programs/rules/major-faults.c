/* A mapped file that is not in memory, touched here and there, page by page (fires), or asked for before (silent). */
#include "rule.h"
#include <fcntl.h>
#include <sys/mman.h>

enum { PAGE = 4096, PAGES = 8000 };

static const size_t SIZE = (size_t)PAGES * PAGE;

/* A file that is on the disk and nowhere else. */
static int file_on_disk(void)
{
	static char piece[1 << 20];
	int file = open("index.db", O_CREAT | O_TRUNC | O_RDWR, 0600);
	must(file >= 0);
	for (size_t at = 0; at < SIZE; at += sizeof piece)
		must(write(file, piece, SIZE - at < sizeof piece ? SIZE - at : sizeof piece) > 0);
	must(fsync(file) == 0);
	must(posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0);
	return file;
}

__attribute__((noinline)) static unsigned look_up(const unsigned char *index)
{
	unsigned sum = 0, at = 0;
	for (int question = 0; question < PAGES; question++) {
		at = (at + 4099u) % PAGES;
		sum += index[(size_t)at * PAGE];
	}
	return sum;
}

int main(int argc, char **argv)
{
	int cold = fires(argc, argv), file = file_on_disk();
	int flags = MAP_SHARED | (cold ? 0 : MAP_POPULATE);
	const unsigned char *index = mmap(NULL, SIZE, PROT_READ, flags, file, 0);
	must(index != MAP_FAILED);
	must(madvise((void *)index, SIZE, MADV_RANDOM) == 0);
	return look_up(index) == 1;
}
