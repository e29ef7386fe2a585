/* A table whose file is written anew for each row (fires), or to whose end as much is written (silent). */
#include "rule.h"
#include <fcntl.h>

enum { ROWS = 1200, ROW = 80, PIECE = ROWS / 2 * ROW };

static char table[ROWS * ROW];

__attribute__((noinline)) static void format_rows(int rows)
{
	for (int row = 0; row < rows; row++)
		snprintf(table + row * ROW, ROW, "%079d", row);
}

__attribute__((noinline)) static void save_table(int rows)
{
	int file = open("table.txt", O_CREAT | O_TRUNC | O_WRONLY, 0600);
	must(file >= 0);
	format_rows(rows);
	must(write(file, table, (size_t)rows * ROW) == (ssize_t)rows * ROW);
	must(close(file) == 0);
}

__attribute__((noinline)) static void append_rows(int rows)
{
	int file = open("table.txt", O_CREAT | O_APPEND | O_WRONLY, 0600);
	must(file >= 0);
	format_rows(rows);
	must(write(file, table, (size_t)rows * ROW) == (ssize_t)rows * ROW);
	must(close(file) == 0);
}

int main(int argc, char **argv)
{
	int whole = fires(argc, argv);
	for (int row = 1; row <= ROWS; row++) {
		if (whole)
			save_table(row);
		else
			append_rows(ROWS / 2);
	}
	return 0;
}
