/* A program started through a shell for each item (fires), or by itself (silent). */
#include "rule.h"
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

enum { ITEMS = 60 };

__attribute__((noinline)) static void through_a_shell(const char *program)
{
	char command[4096];
	snprintf(command, sizeof command, "%s item >> items.log", program);
	must(system(command) == 0);
}

__attribute__((noinline)) static void by_itself(char *program)
{
	char *arguments[] = { program, "item", NULL };
	pid_t child;
	int status;
	must(posix_spawn(&child, program, NULL, NULL, arguments, environ) == 0);
	must(waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "item")) {
		compute_us(4000);
		return 0;
	}
	int shell = fires(argc, argv);
	for (int item = 0; item < ITEMS; item++) {
		if (shell)
			through_a_shell(argv[0]);
		else
			by_itself(argv[0]);
	}
	return 0;
}
