/* A table of 12 MB comes in through a pipe. Each cell is kept as a node of its own with its text (fires), or as its number in a
 * row, and as much memory is touched at the start, for what is reckoned out of them (silent). */
#include "rule.h"
#include <sys/mman.h>

enum { SIZE = 12 << 20, CELL = 2, PER_ROW = 50, MADE = 400 << 20, PAGE = 4096 };

struct node {
	struct node *next;
	char *text;
	long row, column, kind;
};

static unsigned char cells[SIZE / CELL];

static void make(FILE *out)
{
	for (long at = 0; at < SIZE / CELL; at++) {
		fputc('0' + (int)(at * 7 % 10), out);
		fputc(at % PER_ROW == PER_ROW - 1 ? '\n' : ',', out);
	}
	must(fclose(out) == 0);
}

__attribute__((noinline)) static long as_nodes(FILE *in)
{
	struct node *all = NULL;
	char cell[CELL];
	long sum = 0;
	for (long at = 0; fread_unlocked(cell, CELL, 1, in) == 1; at++) {
		struct node *node = malloc(sizeof *node);
		must(node && (node->text = malloc(CELL)));
		node->text[0] = cell[0];
		node->text[1] = 0;
		node->row = at / PER_ROW;
		node->column = at % PER_ROW;
		node->next = all;
		all = node;
	}
	for (; all; all = all->next)
		sum += all->text[0] - '0';
	return sum;
}

__attribute__((noinline)) static long as_numbers(FILE *in)
{
	char cell[CELL];
	long sum = 0, count = 0;
	for (; fread_unlocked(cell, CELL, 1, in) == 1; count++)
		cells[count] = (unsigned char)(cell[0] - '0');
	for (long at = 0; at < count; at++)
		sum += cells[at];
	return sum;
}

__attribute__((noinline)) static void reckon(void)
{
	unsigned char *made = mmap(NULL, MADE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(made != MAP_FAILED);
	madvise(made, MADE, MADV_NOHUGEPAGE);
	for (size_t at = 0; at < MADE; at += PAGE)
		made[at] = 1;
}

int main(int argc, char **argv)
{
	int nodes = fires(argc, argv);
	FILE *in = from_child(make);
	if (!nodes)
		reckon();
	printf("%ld\n", nodes ? as_nodes(in) : as_numbers(in));
	return 0;
}
