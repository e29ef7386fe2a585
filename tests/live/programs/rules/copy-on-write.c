/* A child is forked for each snapshot of a large memory, all of which is written to meanwhile (fires), or of a small one (silent). */
#include "rule.h"
#include <sys/wait.h>

#define PAGE 4096
#define SNAPSHOTS 30

static char *memory;
static size_t size;

__attribute__((noinline)) static void change(int round)
{
	for (size_t at = 0; at < size; at += PAGE)
		memory[at] += (char)round;
}

int main(int argc, char **argv)
{
	size = (fires(argc, argv) ? 64u << 20 : 64 * PAGE);
	memory = malloc(size);
	must(memory);
	memset(memory, 1, size);
	for (int round = 0; round < SNAPSHOTS; round++) {
		pid_t child = fork();
		must(child >= 0);
		if (child == 0) {
			sleep_us(20000);
			_exit(memory[0] == 0);
		}
		change(round);
		compute_us(10000);
		must(waitpid(child, NULL, 0) == child);
	}
	return 0;
}
