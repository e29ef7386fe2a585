/* Three processes of OpenMP at a time: two threads each, which wait for each other after each step (fires); or one each (silent). */
#include "rule.h"
#include <omp.h>
#include <sys/wait.h>

#define PROCESSES 3
#define STEPS 1500
#define CELLS 4096

static double cells[CELLS];

__attribute__((noinline)) static void relax(int step)
{
#pragma omp parallel for
	for (int i = 0; i < CELLS; i++)
		for (int j = 1; j < 20; j++)
			cells[i] = (cells[i] + step) / j;
}

static void solve(void)
{
	for (int step = 0; step < STEPS; step++)
		relax(step);
}

int main(int argc, char **argv)
{
	omp_set_num_threads(fires(argc, argv) ? 2 : 1);
	for (int i = 0; i < PROCESSES; i++)
		if (fork() == 0) {
			solve();
			return 0;
		}
	while (wait(NULL) > 0)
		;
	return 0;
}
