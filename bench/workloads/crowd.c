// A machine with work: pairs of threads hand a byte to and fro some thousand times a second, and a thread on each CPU counts what it
// computes. Prints the switches a second and what was counted: `crowd SECONDS PAIRS`.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { PAIRS = 16, CPUS = 64 };

static volatile int over;
static struct { volatile unsigned long count; char pad[56]; } computed[CPUS];
static int there[PAIRS][2], back[PAIRS][2];

static void *compute(void *at)
{
	unsigned long x = 1;

	while (!over) {
		for (int i = 0; i < 10000; i++)
			x = x * 6364136223846793005UL + 1442695040888963407UL;
		computed[(long)at].count += 10000 + (x == 0);
	}
	return NULL;
}

static void *answer(void *at)
{
	char byte;

	while (read(there[(long)at][0], &byte, 1) == 1)
		if (write(back[(long)at][1], &byte, 1) != 1)
			break;
	return NULL;
}

static void *ask(void *at)
{
	struct timespec pause = { 0, 100000 };
	char byte = 0;

	while (!over) {
		if (write(there[(long)at][1], &byte, 1) != 1 || read(back[(long)at][0], &byte, 1) != 1)
			break;
		nanosleep(&pause, NULL);
	}
	close(there[(long)at][1]);
	return NULL;
}

int main(int count, char **words)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN), seconds = count > 1 ? atol(words[1]) : 5;
	pthread_t threads[CPUS + 2 * PAIRS];
	long pairs = count > 2 ? atol(words[2]) : 1;
	unsigned long sum = 0;
	struct rusage usage;
	int made = 0;

	for (long at = 0; at < pairs && at < PAIRS; at++) {
		if (pipe(there[at]) || pipe(back[at]))
			return 1;
		pthread_create(&threads[made++], NULL, answer, (void *)at);
		pthread_create(&threads[made++], NULL, ask, (void *)at);
	}
	for (long at = 0; at < cpus && at < CPUS; at++)
		pthread_create(&threads[made++], NULL, compute, (void *)at);
	sleep(seconds);
	over = 1;
	for (int at = 0; at < made; at++)
		pthread_join(threads[at], NULL);
	for (int at = 0; at < CPUS; at++)
		sum += computed[at].count;
	getrusage(RUSAGE_SELF, &usage);
	printf("%ld %lu\n", (usage.ru_nvcsw + usage.ru_nivcsw) / seconds, sum);
}
