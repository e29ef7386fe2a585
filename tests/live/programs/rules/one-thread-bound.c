/* One thread prepares what three others then work on. The first takes longest (fires), or the others do (silent).
   Semaphores, because who signals a condition may have to wait for those that were woken before. */
#include "rule.h"
#include <pthread.h>
#include <semaphore.h>

enum { ITEMS = 500, ROOM = 64, THREADS = 3 };

static sem_t more, less;
static int over;
static uint64_t each_us;

static void take(sem_t *semaphore)
{
	while (sem_wait(semaphore) != 0)
		must(errno == EINTR);
}

static void *work(void *unused)
{
	for (;;) {
		take(&more);
		if (__atomic_load_n(&over, __ATOMIC_ACQUIRE))
			return unused;
		must(sem_post(&less) == 0);
		compute_us(each_us);
	}
}

__attribute__((noinline)) static void prepare(uint64_t us)
{
	compute_us(us);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int bound = fires(argc, argv);
	each_us = bound ? 300 : 1800;
	must(sem_init(&more, 0, 0) == 0 && sem_init(&less, 0, ROOM) == 0);
	for (int n = 0; n < THREADS; n++)
		must(pthread_create(&threads[n], NULL, work, NULL) == 0);
	for (int item = 0; item < ITEMS; item++) {
		prepare(bound ? 1800 : 300);
		take(&less);
		must(sem_post(&more) == 0);
	}
	/* All that was put in is taken out again. */
	for (int n = 0; n < ROOM; n++)
		take(&less);
	__atomic_store_n(&over, 1, __ATOMIC_RELEASE);
	for (int n = 0; n < THREADS; n++)
		must(sem_post(&more) == 0);
	for (int n = 0; n < THREADS; n++)
		must(pthread_join(threads[n], NULL) == 0);
	return 0;
}
