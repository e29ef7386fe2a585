/* Starts a command, in the way that is asked for, and waits for it: `parents FORM COMMAND...`. */
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static _Noreturn void becomes(char **command)
{
	execvp(command[0], command);
	_exit(127);
}

static pid_t forked(char **command)
{
	pid_t child = fork();
	if (child == 0)
		becomes(command);
	return child;
}

static void in_one_line(char **command, char *line, size_t size)
{
	line[0] = 0;
	for (; *command; command++) {
		strncat(line, *command, size - strlen(line) - 1);
		strncat(line, " ", size - strlen(line) - 1);
	}
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	const char *form = argv[1];
	char **command = argv + 2, line[4096];
	int status = 0;
	pid_t child;
	in_one_line(command, line, sizeof line);
	if (!strcmp(form, "wait4")) {
		return waitpid(forked(command), &status, 0) < 0 || status;
	} else if (!strcmp(form, "waitid")) {
		siginfo_t ended;
		return waitid(P_PID, (id_t)forked(command), &ended, WEXITED) < 0 || ended.si_status;
	} else if (!strcmp(form, "signal")) {
		sigset_t ends;
		int signal;
		sigemptyset(&ends);
		sigaddset(&ends, SIGCHLD);
		sigprocmask(SIG_BLOCK, &ends, NULL);
		child = forked(command);
		sigwait(&ends, &signal);
		return waitpid(child, &status, 0) < 0 || status;
	} else if (!strcmp(form, "vfork")) {
		child = vfork();
		if (child == 0)
			becomes(command);
		return waitpid(child, &status, 0) < 0 || status;
	} else if (!strcmp(form, "spawn")) {
		if (posix_spawnp(&child, command[0], NULL, NULL, command, environ))
			return 1;
		return waitpid(child, &status, 0) < 0 || status;
	} else if (!strcmp(form, "system")) {
		return system(line) != 0;
	} else if (!strcmp(form, "popen")) {
		FILE *output = popen(line, "r");
		while (output && fgets(line, sizeof line, output))
			;
		return !output || pclose(output) != 0;
	}
	return 2;
}
