/* One thread prepares what three others then work on. The first takes longest (fires), or the others do (silent). */
#include "rule.h"
#include <pthread.h>

enum { ITEMS = 500, ROOM = 8 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER, less = PTHREAD_COND_INITIALIZER;
static int waiting, over;
static uint64_t each_us;

static void *work(void *unused)
{
	for (;;) {
		pthread_mutex_lock(&lock);
		while (!waiting && !over)
			pthread_cond_wait(&more, &lock);
		int go_on = waiting > 0;
		if (go_on)
			waiting--;
		pthread_mutex_unlock(&lock);
		if (!go_on)
			return unused;
		pthread_cond_signal(&less);
		compute_us(each_us);
	}
}

__attribute__((noinline)) static void prepare(uint64_t us)
{
	compute_us(us);
}

int main(int argc, char **argv)
{
	pthread_t threads[3];
	int bound = fires(argc, argv);
	each_us = bound ? 300 : 1800;
	for (int n = 0; n < 3; n++)
		must(pthread_create(&threads[n], NULL, work, NULL) == 0);
	for (int item = 0; item < ITEMS; item++) {
		prepare(bound ? 1800 : 300);
		pthread_mutex_lock(&lock);
		while (waiting == ROOM)
			pthread_cond_wait(&less, &lock);
		waiting++;
		pthread_mutex_unlock(&lock);
		pthread_cond_signal(&more);
	}
	pthread_mutex_lock(&lock);
	over = 1;
	pthread_mutex_unlock(&lock);
	pthread_cond_broadcast(&more);
	for (int n = 0; n < 3; n++)
		must(pthread_join(threads[n], NULL) == 0);
	return 0;
}
