/* Sixteen threads wait for items. For each item all of them are woken (fires), or one (silent). */
#include "rule.h"
#include <pthread.h>

enum { THREADS = 16, ITEMS = 3000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static int waiting, over;

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
		compute_us(60);
	}
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int all = fires(argc, argv);
	for (int n = 0; n < THREADS; n++)
		must(pthread_create(&threads[n], NULL, work, NULL) == 0);
	for (int item = 0; item < ITEMS; item++) {
		compute_us(60);
		pthread_mutex_lock(&lock);
		waiting++;
		pthread_mutex_unlock(&lock);
		if (all)
			pthread_cond_broadcast(&more);
		else
			pthread_cond_signal(&more);
	}
	pthread_mutex_lock(&lock);
	over = 1;
	pthread_mutex_unlock(&lock);
	pthread_cond_broadcast(&more);
	for (int n = 0; n < THREADS; n++)
		must(pthread_join(threads[n], NULL) == 0);
	return 0;
}
