/* Four threads write to one journal: each waits for the device while it holds the lock (fires), or lets go of the lock
   first (silent). */
#include "rule.h"
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int under_lock;

__attribute__((noinline)) static void append(void)
{
	pthread_mutex_lock(&lock);
	compute_us(20);
	if (under_lock)
		wait_us(1500);
	pthread_mutex_unlock(&lock);
	if (!under_lock)
		wait_us(1500);
}

static void *work(void *unused)
{
	for (int record = 0; record < 150; record++) {
		append();
		compute_us(200);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[4];
	under_lock = fires(argc, argv);
	for (int n = 0; n < 4; n++)
		must(pthread_create(&threads[n], NULL, work, NULL) == 0);
	for (int n = 0; n < 4; n++)
		must(pthread_join(threads[n], NULL) == 0);
	return 0;
}
