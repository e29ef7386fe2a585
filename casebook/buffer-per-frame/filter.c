/* Makes frames darker. `filter new COUNT` takes new memory for each of them, `filter kept COUNT` uses the same again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More than the C library keeps for itself. */
#define FRAME (36 << 20)

static unsigned char picture[FRAME];

__attribute__((noinline)) static unsigned darken(unsigned char *out)
{
	for (size_t at = 0; at < FRAME; at++)
		out[at] = picture[at] >> 1;
	return out[FRAME / 2];
}

int main(int argc, char **argv)
{
	int count = argc == 3 ? atoi(argv[2]) : 0;
	unsigned char *kept = NULL;
	unsigned sum = 0;

	if (count < 1) {
		fprintf(stderr, "usage: filter new|kept COUNT\n");
		return 2;
	}
	memset(picture, 77, sizeof(picture));
	for (; count > 0; count--) {
		unsigned char *out = kept ? kept : malloc(FRAME);

		if (!out)
			return 1;
		sum += darken(out);
		if (!strcmp(argv[1], "kept"))
			kept = out;
		else
			free(out);
	}
	printf("%u\n", sum);
	return 0;
}
