/* Small pieces of work, each of which has a thread of its own (fires), or which four threads take one after the other (silent). */
#include "rule.h"
#include <pthread.h>
#include <stdatomic.h>

enum { ITEMS = 4000, AT_ONCE = 4 };

static atomic_int left = ITEMS;

static void *one(void *unused)
{
	compute_us(20);
	return unused;
}

static void *many(void *unused)
{
	while (atomic_fetch_sub(&left, 1) > 0)
		compute_us(20);
	return unused;
}

__attribute__((noinline)) static void work_in_threads(void *(*work)(void *))
{
	pthread_t threads[AT_ONCE];
	for (int n = 0; n < AT_ONCE; n++)
		must(pthread_create(&threads[n], NULL, work, NULL) == 0);
	for (int n = 0; n < AT_ONCE; n++)
		must(pthread_join(threads[n], NULL) == 0);
}

int main(int argc, char **argv)
{
	if (!fires(argc, argv)) {
		work_in_threads(many);
		return 0;
	}
	for (int item = 0; item < ITEMS; item += AT_ONCE)
		work_in_threads(one);
	return 0;
}
