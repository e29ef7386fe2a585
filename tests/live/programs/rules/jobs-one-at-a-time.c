/* A pool of two threads that is given jobs: each is waited for before the next (fires), or all are given at once (silent). */
#include "rule.h"
#include <pthread.h>

#define JOBS 80
#define JOB_US 10000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t given = PTHREAD_COND_INITIALIZER;
static pthread_cond_t finished = PTHREAD_COND_INITIALIZER;
static int waiting, done, over;

static void *work(void *nothing)
{
	(void)nothing;
	must(pthread_mutex_lock(&lock) == 0);
	for (;;) {
		while (!waiting && !over)
			must(pthread_cond_wait(&given, &lock) == 0);
		if (!waiting)
			break;
		waiting--;
		must(pthread_mutex_unlock(&lock) == 0);
		compute_us(JOB_US);
		must(pthread_mutex_lock(&lock) == 0);
		done++;
		must(pthread_cond_signal(&finished) == 0);
	}
	must(pthread_mutex_unlock(&lock) == 0);
	return NULL;
}

static void give(int jobs)
{
	must(pthread_mutex_lock(&lock) == 0);
	int all = done + jobs;
	waiting += jobs;
	must((jobs == 1 ? pthread_cond_signal(&given) : pthread_cond_broadcast(&given)) == 0);
	while (done < all)
		must(pthread_cond_wait(&finished, &lock) == 0);
	must(pthread_mutex_unlock(&lock) == 0);
}

int main(int argc, char **argv)
{
	pthread_t threads[2];
	int each = fires(argc, argv);
	for (int i = 0; i < 2; i++)
		must(pthread_create(&threads[i], NULL, work, NULL) == 0);
	for (int i = 0; i < (each ? JOBS : 1); i++)
		give(each ? 1 : JOBS);
	must(pthread_mutex_lock(&lock) == 0);
	over = 1;
	must(pthread_cond_broadcast(&given) == 0);
	must(pthread_mutex_unlock(&lock) == 0);
	for (int i = 0; i < 2; i++)
		must(pthread_join(threads[i], NULL) == 0);
	return 0;
}
