/* Rows of a hundred bytes in a file whose every write is to be safe (fires), or in one that is flushed at the end (silent). */
#include "rule.h"
#include <fcntl.h>

__attribute__((noinline)) static void insert_row(int file)
{
	char row[100];
	memset(row, 'x', sizeof row);
	must(write(file, row, sizeof row) == sizeof row);
}

int main(int argc, char **argv)
{
	int each = fires(argc, argv) ? O_DSYNC : 0;
	int file = open("rows.db", O_CREAT | O_TRUNC | O_WRONLY | each, 0600);
	must(file >= 0);
	for (int row = 0; row < 1500; row++) {
		insert_row(file);
		compute_us(50);
	}
	must(fdatasync(file) == 0);
	return 0;
}
