/*
 * A process of 900 MB that starts a program for each item by fork (fires), or by vfork (silent). With 300 MB copying the tables
 * was 0.70 to 0.75 of what a child costs on a machine of 2026-11-22, and whether it stood first hung on the machine.
 */
#include "rule.h"
#include <sys/mman.h>
#include <sys/wait.h>

enum { ITEMS = 60, RESIDENT = 900 << 20 };

__attribute__((noinline)) static void check(char *program, int copies)
{
	int status;
	pid_t child = copies ? fork() : vfork();
	must(child >= 0);
	if (!child) {
		execl(program, program, "item", (char *)NULL);
		_exit(1);
	}
	must(waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "item"))
		return 0;
	int copies = fires(argc, argv);
	char *memory = mmap(NULL, RESIDENT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(memory != MAP_FAILED && madvise(memory, RESIDENT, MADV_NOHUGEPAGE) == 0);
	memset(memory, 1, RESIDENT);
	for (int item = 0; item < ITEMS; item++)
		check(argv[0], copies);
	return 0;
}
