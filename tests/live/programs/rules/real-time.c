/* A calculation beside a thread on each processor that computes two thirds of the time, and is a real-time one (fires) or not (silent). */
#include "rule.h"
#include <pthread.h>
#include <sched.h>

enum { MOST = 64 };

static int real_time;

static void *mix(void *unused)
{
	struct sched_param parameter = { .sched_priority = 10 };
	struct timespec pause = { 0, 10000000 };

	if (real_time)
		must(pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameter) == 0);
	for (;;) {
		compute_us(20000);
		nanosleep(&pause, NULL);
	}
	return unused;
}

int main(int argc, char **argv)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t threads[MOST];

	real_time = fires(argc, argv);
	for (long n = 0; n < processors && n < MOST; n++)
		must(pthread_create(&threads[n], NULL, mix, NULL) == 0);
	/* The others end with it. */
	compute_us(500000);
	return 0;
}
