/* Four threads count under a lock, shortly. Now and then one of them also waits for a disk, with the lock held
   (fires) or after it (silent). */
#include "rule.h"
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int under_lock;

__attribute__((noinline)) static void rotate_log(void)
{
	wait_us(20000);
}

static void *work(void *number)
{
	for (int item = 0; item < 2000; item++) {
		int rotates = item % 200 == 50 * *(int *)number;
		pthread_mutex_lock(&lock);
		compute_us(5);
		if (rotates && under_lock)
			rotate_log();
		pthread_mutex_unlock(&lock);
		if (rotates && !under_lock)
			rotate_log();
		compute_us(60);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[4];
	int numbers[4] = { 0, 1, 2, 3 };
	under_lock = fires(argc, argv);
	for (int n = 0; n < 4; n++)
		must(pthread_create(&threads[n], NULL, work, &numbers[n]) == 0);
	for (int n = 0; n < 4; n++)
		must(pthread_join(threads[n], NULL) == 0);
	return 0;
}
