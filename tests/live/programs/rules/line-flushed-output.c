/* Lines that are flushed one by one into a file (fires), or as many that are only flushed when the buffer is full (silent). */
#include "rule.h"

enum { LINES = 600000 };

__attribute__((noinline)) static void print_line(FILE *out, int line, int flush)
{
	fprintf(out, "%d of %d is done\n", line, LINES);
	if (flush)
		must(fflush(out) == 0);
}

int main(int argc, char **argv)
{
	int each = fires(argc, argv);
	FILE *out = fopen("output.txt", "w");
	must(out);
	for (int line = 0; line < LINES * (each ? 1 : 5); line++)
		print_line(out, line, each);
	must(fclose(out) == 0);
	return 0;
}
