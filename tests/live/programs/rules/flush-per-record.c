/* Rows of a hundred bytes, each flushed to the disk (fires), or all flushed once at the end (silent). */
#include "rule.h"
#include <fcntl.h>

__attribute__((noinline)) static void insert_row(int file, int flush)
{
	char row[100];
	memset(row, 'x', sizeof row);
	must(write(file, row, sizeof row) == sizeof row);
	if (flush)
		must(fdatasync(file) == 0);
}

int main(int argc, char **argv)
{
	int each = fires(argc, argv);
	int file = open("rows.db", O_CREAT | O_TRUNC | O_WRONLY, 0600);
	must(file >= 0);
	for (int row = 0; row < 1500; row++) {
		insert_row(file, each);
		compute_us(50);
	}
	must(fdatasync(file) == 0);
	return 0;
}
