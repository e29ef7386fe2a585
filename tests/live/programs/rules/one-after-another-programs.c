/* Eight runs of a program that computes: one at a time, while another CPU is idle (fires), or two at a time (silent). */
#include "rule.h"
#include <sys/wait.h>

enum { RUNS = 8 };

static void start(const char *program)
{
	pid_t child = fork();

	must(child >= 0);
	if (child == 0) {
		execl(program, program, "compute", NULL);
		_exit(1);
	}
}

static void await_one(void)
{
	int status;

	must(wait(&status) > 0 && status == 0);
}

int main(int argc, char **argv)
{
	int at_once;

	if (argc == 2 && !strcmp(argv[1], "compute")) {
		compute_us(60000);
		return 0;
	}
	at_once = fires(argc, argv) ? 1 : 2;
	for (int run = 0; run < RUNS; run++) {
		start(argv[0]);
		if (run >= at_once - 1)
			await_one();
	}
	for (int left = 1; left < at_once; left++)
		await_one();
	return 0;
}
