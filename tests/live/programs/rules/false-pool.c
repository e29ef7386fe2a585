/* Four threads that all work under one lock (fires), or each under its own (silent). */
#include "rule.h"
#include <pthread.h>

static pthread_mutex_t locks[4];
static int one_for_all;

__attribute__((noinline)) static void update(pthread_mutex_t *lock)
{
	pthread_mutex_lock(lock);
	compute_us(1000);
	pthread_mutex_unlock(lock);
}

static void *work(void *own)
{
	pthread_mutex_t *lock = one_for_all ? &locks[0] : own;
	for (int item = 0; item < 250; item++) {
		update(lock);
		compute_us(5);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[4];
	one_for_all = fires(argc, argv);
	for (int n = 0; n < 4; n++) {
		pthread_mutex_init(&locks[n], NULL);
		must(pthread_create(&threads[n], NULL, work, &locks[n]) == 0);
	}
	for (int n = 0; n < 4; n++)
		must(pthread_join(threads[n], NULL) == 0);
	return 0;
}
