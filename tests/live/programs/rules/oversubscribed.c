/* The same work by three threads for each processor (fires), or by as many as there are processors (silent). */
#include "rule.h"
#include <pthread.h>

static void *work(void *us)
{
	compute_us(*(uint64_t *)us);
	return NULL;
}

int main(int argc, char **argv)
{
	int many = fires(argc, argv) ? 3 : 1;
	int count = many * (int)sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t us = 600000 / many;
	pthread_t *threads = calloc(count, sizeof *threads);
	must(threads != NULL);
	for (int n = 0; n < count; n++)
		must(pthread_create(&threads[n], NULL, work, &us) == 0);
	for (int n = 0; n < count; n++)
		must(pthread_join(threads[n], NULL) == 0);
	return 0;
}
