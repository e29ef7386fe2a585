/* A child that closes all numbers that a descriptor could have (fires), or descriptors that there are (silent). */
#include "rule.h"
#include <fcntl.h>
#include <sys/wait.h>

enum { NUMBERS = 65536, CHILDREN = 40, OPEN = 500, ROUNDS = 15 };

__attribute__((noinline)) static void close_all(void)
{
	for (int number = 3; number < NUMBERS; number++)
		close(number);
}

__attribute__((noinline)) static void close_those(void)
{
	for (int round = 0; round < ROUNDS; round++) {
		for (int number = 3; number < 3 + OPEN; number++)
			dup2(0, number);
		for (int number = 3; number < 3 + OPEN; number++)
			close(number);
	}
}

int main(int argc, char **argv)
{
	int all = fires(argc, argv);
	for (int child = 0; child < CHILDREN; child++) {
		int status;
		pid_t pid = fork();
		must(pid >= 0);
		if (!pid) {
			if (all)
				close_all();
			else
				close_those();
			_exit(0);
		}
		must(waitpid(pid, &status, 0) == pid && status == 0);
	}
	return 0;
}
