/* A file read by the byte (fires), or a pipe in which there is never more than a byte to be had (silent). */
#include "rule.h"
#include <fcntl.h>
#include <sys/wait.h>

__attribute__((noinline)) static int next_character(int file)
{
	char character;
	return read(file, &character, 1) == 1 ? character : -1;
}

int main(int argc, char **argv)
{
	int file, ends[2], status, lines = 0, each;
	if (fires(argc, argv)) {
		char *text = malloc(1500000);
		memset(text, 'x', 1500000);
		file = open("input.txt", O_CREAT | O_TRUNC | O_RDWR, 0600);
		must(text && file >= 0 && write(file, text, 1500000) == 1500000);
		must(lseek(file, 0, SEEK_SET) == 0);
		free(text);
		while ((each = next_character(file)) >= 0)
			lines += each == '\n';
		return lines != 0;
	}
	must(pipe(ends) == 0);
	pid_t child = fork();
	must(child >= 0);
	if (!child) {
		for (int key = 0; key < 100000; key++)
			must(write(ends[1], "k", 1) == 1);
		_exit(0);
	}
	close(ends[1]);
	while ((each = next_character(ends[0])) >= 0)
		lines += each == '\n';
	must(waitpid(child, &status, 0) == child && status == 0);
	return lines != 0;
}
