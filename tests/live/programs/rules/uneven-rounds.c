/* Two threads compute in rounds, and meet at a barrier after each: one has nine tenths to do (fires), or each a half (silent). */
#include "rule.h"
#include <pthread.h>

#define ROUNDS 60
#define ROUND_US 20000

static pthread_barrier_t barrier;
static uint64_t parts[2];

static void *work(void *part)
{
	for (int round = 0; round < ROUNDS; round++) {
		compute_us(*(uint64_t *)part);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];
	parts[0] = fires(argc, argv) ? ROUND_US * 9 / 10 : ROUND_US / 2;
	parts[1] = ROUND_US - parts[0];
	must(pthread_barrier_init(&barrier, NULL, 2) == 0);
	for (int i = 0; i < 2; i++)
		must(pthread_create(&threads[i], NULL, work, &parts[i]) == 0);
	for (int i = 0; i < 2; i++)
		must(pthread_join(threads[i], NULL) == 0);
	return 0;
}
