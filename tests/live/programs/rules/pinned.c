/* Two threads that may only run on one processor (fires), or each on one of its own (silent). */
#include "rule.h"
#include <pthread.h>
#include <sched.h>

static cpu_set_t all;

/* The processor with this number among those that the program may use. */
static int processor(int number)
{
	for (int n = 0; n < CPU_SETSIZE; n++)
		if (CPU_ISSET(n, &all) && !number--)
			return n;
	must(!"two processors");
	return 0;
}

static void *work(void *number)
{
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(processor(*(int *)number), &one);
	must(sched_setaffinity(0, sizeof one, &one) == 0);
	compute_us(400000);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];
	int numbers[2] = { 0, fires(argc, argv) ? 0 : 1 };
	must(sched_getaffinity(0, sizeof all, &all) == 0);
	for (int n = 0; n < 2; n++)
		must(pthread_create(&threads[n], NULL, work, &numbers[n]) == 0);
	for (int n = 0; n < 2; n++)
		must(pthread_join(threads[n], NULL) == 0);
	return 0;
}
