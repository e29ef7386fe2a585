/*
 * Loads sequence records into a store of rows with an index beside it.
 *
 *   loader slow INPUT    each row is written and flushed by itself, and the index entry with it
 *   loader fixed INPUT   rows are collected and written together; the index is sorted and written once, at the end
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct entry {
	unsigned id;
	long offset;
};

static struct entry *entries;
static size_t count;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void put(int file, const void *bytes, size_t length)
{
	if (write(file, bytes, length) != (ssize_t)length)
		fail("write");
}

static int by_id(const void *a, const void *b)
{
	const struct entry *one = a, *other = b;

	return (one->id > other->id) - (one->id < other->id);
}

/* The place of the entry is found by halves, as in the store that this retells; what follows it moves up. */
static void update_index(int index, struct entry entry)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (entries[middle].id < entry.id)
			low = middle + 1;
		else
			high = middle;
	}
	memmove(entries + low + 1, entries + low, (count - low) * sizeof(*entries));
	entries[low] = entry;
	count++;
	if (pwrite(index, entries + low, (count - low) * sizeof(*entries), (off_t)(low * sizeof(*entries))) < 0)
		fail("index");
}

__attribute__((noinline)) static void insert_row(int rows, int index, const char *row, size_t length, struct entry entry)
{
	put(rows, row, length);
	if (fdatasync(rows))
		fail("flush of the rows");
	update_index(index, entry);
	if (fdatasync(index))
		fail("flush of the index");
}

static size_t make_row(char *row, const char *line, unsigned *id)
{
	*id = (unsigned)strtoul(line, NULL, 10);
	return (size_t)sprintf(row, "%-99.98s\n", line);
}

int main(int argc, char **argv)
{
	char line[256], row[128], *buffer = NULL;
	size_t used = 0;
	FILE *input;
	int rows, index, slow;

	if (argc != 3 || (!(slow = !strcmp(argv[1], "slow")) && strcmp(argv[1], "fixed"))) {
		fprintf(stderr, "usage: loader slow|fixed INPUT\n");
		return 2;
	}
	input = fopen(argv[2], "r");
	rows = open("rows.db", O_CREAT | O_TRUNC | O_WRONLY, 0644);
	index = open("rows.idx", O_CREAT | O_TRUNC | O_WRONLY, 0644);
	entries = malloc(sizeof(*entries) * 1000000);
	buffer = malloc(1 << 27);
	if (!input || rows < 0 || index < 0 || !entries || !buffer)
		fail("open");
	for (long offset = 0; fgets(line, sizeof(line), input); ) {
		struct entry entry = { .offset = offset };
		size_t length = make_row(row, line, &entry.id);

		if (slow) {
			insert_row(rows, index, row, length, entry);
		} else {
			memcpy(buffer + used, row, length);
			used += length;
			entries[count++] = entry;
		}
		offset += (long)length;
	}
	if (!slow) {
		qsort(entries, count, sizeof(*entries), by_id);
		put(rows, buffer, used);
		put(index, entries, count * sizeof(*entries));
		if (fdatasync(rows) || fdatasync(index))
			fail("flush");
	}
	return 0;
}
