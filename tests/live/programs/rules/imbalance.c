/* Two threads share a work: nine tenths and one tenth of it (fires), or half each (silent). */
#include "rule.h"
#include <pthread.h>

static void *work(void *parts)
{
	for (int part = 0; part < *(int *)parts; part++)
		compute_us(10000);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];
	int uneven = fires(argc, argv);
	int parts[2] = { uneven ? 90 : 50, uneven ? 10 : 50 };
	for (int n = 0; n < 2; n++)
		must(pthread_create(&threads[n], NULL, work, &parts[n]) == 0);
	for (int n = 0; n < 2; n++)
		must(pthread_join(threads[n], NULL) == 0);
	return 0;
}
