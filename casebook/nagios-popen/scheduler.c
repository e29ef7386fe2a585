/*
 * A scheduler of checks with a large state: hosts, services and their history.
 *
 *   scheduler popen CHECKS   each check is run by a shell that a copy of the scheduler starts
 *   scheduler spawn CHECKS   each check is started by itself, without a copy
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define HISTORY (700l << 20)

extern char **environ;

/* What every check costs anyway: its result is put into the history. */
static void keep_result(char *history, int check, int status)
{
	size_t at = (size_t)check * 4093 % HISTORY;

	history[at] = (char)status;
}

/* As popen does it, with a fork: the page tables of the whole state are copied for each check. */
__attribute__((noinline)) static int run_by_shell(const char *line)
{
	int out[2], status = 0;
	char result[64];
	pid_t child;

	if (pipe(out))
		return -1;
	child = fork();
	if (child == 0) {
		dup2(out[1], 1);
		close(out[0]);
		close(out[1]);
		execl("/bin/sh", "sh", "-c", line, NULL);
		_exit(127);
	}
	close(out[1]);
	while (read(out[0], result, sizeof(result)) > 0)
		;
	close(out[0]);
	waitpid(child, &status, 0);
	return status;
}

__attribute__((noinline)) static int run_directly(char *const *arguments)
{
	int status = 0;
	pid_t child;

	if (posix_spawn(&child, arguments[0], NULL, NULL, arguments, environ))
		return -1;
	waitpid(child, &status, 0);
	return status;
}

int main(int argc, char **argv)
{
	char *arguments[] = { "/bin/true", NULL };
	char *history = malloc(HISTORY);
	int checks = argc == 3 ? atoi(argv[2]) : 0;

	if (checks < 1 || !history) {
		fprintf(stderr, "usage: scheduler popen|spawn CHECKS\n");
		return 2;
	}
	/* All of it was used at some time. */
	for (size_t at = 0; at < HISTORY; at += 4096)
		history[at] = 1;
	for (int check = 0; check < checks; check++)
		keep_result(history, check, strcmp(argv[1], "popen") ? run_directly(arguments) : run_by_shell("/bin/true"));
	return 0;
}
