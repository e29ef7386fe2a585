/* Six threads, each of which is joined before the next is started (fires), or after all are started (silent). */
#include "rule.h"
#include <pthread.h>

static void *work(void *unused)
{
	compute_us(50000);
	wait_us(80000);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[6];
	int each = fires(argc, argv);
	for (int n = 0; n < 6; n++) {
		must(pthread_create(&threads[n], NULL, work, NULL) == 0);
		if (each)
			must(pthread_join(threads[n], NULL) == 0);
	}
	for (int n = 0; n < 6 && !each; n++)
		must(pthread_join(threads[n], NULL) == 0);
	return 0;
}
