/* Four threads that take one lock for each item, spin for it, and give up the CPU in between (fires); or each its own lock (silent). */
#include "rule.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define THREADS 4
#define ITEMS 30000

struct counter {
	_Alignas(64) atomic_flag taken;
	volatile uint64_t sum;
};

static struct counter counters[THREADS];
static int shared;

__attribute__((noinline)) static void counter_lock(struct counter *counter)
{
	while (atomic_flag_test_and_set(&counter->taken))
		sched_yield();
}

__attribute__((noinline)) static void count(struct counter *counter)
{
	counter_lock(counter);
	for (int i = 0; i < 8000; i++)
		counter->sum += (uint64_t)i;
	atomic_flag_clear(&counter->taken);
}

static void *work(void *own)
{
	for (int item = 0; item < ITEMS; item++)
		count(shared ? &counters[0] : own);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	shared = fires(argc, argv);
	for (int i = 0; i < THREADS; i++)
		must(pthread_create(&threads[i], NULL, work, &counters[i]) == 0);
	for (int i = 0; i < THREADS; i++)
		must(pthread_join(threads[i], NULL) == 0);
	return 0;
}
