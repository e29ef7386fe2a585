/* Items each written to a file of its own, flushed and put in place by renaming (fires), or all flushed together (silent). */
#include "rule.h"
#include <fcntl.h>

enum { ITEMS = 800 };

__attribute__((noinline)) static void save_item(int item, int flush)
{
	char path[32], aside[32], text[300];
	memset(text, 'x', sizeof text);
	snprintf(path, sizeof path, "item-%d", item);
	snprintf(aside, sizeof aside, "item-%d.tmp", item);
	int file = open(aside, O_CREAT | O_TRUNC | O_WRONLY, 0600);
	must(file >= 0 && write(file, text, sizeof text) == sizeof text);
	if (flush)
		must(fsync(file) == 0);
	must(close(file) == 0 && rename(aside, path) == 0);
}

int main(int argc, char **argv)
{
	int each = fires(argc, argv);
	for (int item = 0; item < ITEMS; item++) {
		save_item(item, each);
		compute_us(100);
	}
	int folder = open(".", O_RDONLY | O_DIRECTORY);
	must(folder >= 0 && syncfs(folder) == 0);
	return 0;
}
