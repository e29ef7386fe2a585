/* A program started for each of four hundred items, with next to nothing to do (fires), or for each of thirty, with enough
   to do that starting it hardly counts (silent). */
#include "rule.h"
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

__attribute__((noinline)) static void convert_item(char *program, char *work)
{
	char *arguments[] = { program, work, NULL };
	pid_t child;
	int status;
	must(posix_spawn(&child, program, NULL, NULL, arguments, environ) == 0);
	must(waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "little"))
		return 0;
	if (argc == 2 && !strcmp(argv[1], "much")) {
		compute_us(30000);
		return 0;
	}
	int little = fires(argc, argv);
	for (int item = 0; item < (little ? 400 : 30); item++)
		convert_item(argv[0], little ? "little" : "much");
	return 0;
}
