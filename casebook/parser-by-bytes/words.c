/* Counts the words of a file, reading a byte (bytes) or 64 KiB (buffer) at a time. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char buffer[1 << 16];
static ssize_t filled, at;

static int next_byte(int file, int at_once)
{
	if (at == filled) {
		filled = read(file, buffer, (size_t)at_once);
		at = 0;
		if (filled <= 0)
			return -1;
	}
	return (unsigned char)buffer[at++];
}

__attribute__((noinline)) static long count_words(int file, int at_once)
{
	long words = 0;
	int in_word = 0, byte;

	while ((byte = next_byte(file, at_once)) >= 0) {
		int is_space = byte == ' ' || byte == '\n';

		words += !is_space && !in_word;
		in_word = !is_space;
	}
	return words;
}

int main(int argc, char **argv)
{
	int file = argc == 3 ? open(argv[2], O_RDONLY) : -1;

	if (file < 0) {
		fprintf(stderr, "usage: words bytes|buffer FILE\n");
		return 2;
	}
	printf("%ld words\n", count_words(file, strcmp(argv[1], "bytes") ? (int)sizeof(buffer) : 1));
	return 0;
}
