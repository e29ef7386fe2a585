/* A file copied in pieces of 4 kB that nobody looks at (fires), or that are summed up on the way (silent). */
#include "rule.h"
#include <fcntl.h>

enum { PIECE = 4096, PIECES = 20000, COPIES = 8 };

static int file(const char *name)
{
	int opened = open(name, O_CREAT | O_TRUNC | O_RDWR, 0600);
	must(opened >= 0);
	return opened;
}

__attribute__((noinline)) static uint64_t sum_of(const unsigned char *piece)
{
	uint64_t sum = 14695981039346656037u;
	for (int at = 0; at < PIECE; at++)
		sum = (sum ^ piece[at]) * 1099511628211u;
	return sum;
}

__attribute__((noinline)) static uint64_t copy(int from, int to, int looks)
{
	static unsigned char piece[PIECE];
	uint64_t sum = 0;
	must(lseek(from, 0, SEEK_SET) == 0 && lseek(to, 0, SEEK_SET) == 0);
	while (read(from, piece, sizeof piece) == sizeof piece) {
		must(write(to, piece, sizeof piece) == sizeof piece);
		if (looks)
			sum += sum_of(piece);
	}
	return sum;
}

int main(int argc, char **argv)
{
	static char large[PIECE * 100];
	int plain = fires(argc, argv), from = file("input.db"), to = file("copy.db");
	uint64_t sum = 0;
	for (int at = 0; at < PIECES; at += 100)
		must(write(from, large, sizeof large) == sizeof large);
	/* The copy that looks at all of it takes longer. */
	for (int copies = 0; copies < (plain ? COPIES : COPIES / 2); copies++)
		sum += copy(from, to, !plain);
	return sum == 1;
}
