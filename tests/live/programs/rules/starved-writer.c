/* A table under a read-write lock, read by threads that sleep under it: they do not let the writer in (fires), or they do (silent). */
#include "rule.h"
#include <pthread.h>
#include <stdatomic.h>

#define READERS 3
#define RELOADS 40

static pthread_rwlock_t lock;
static atomic_int done;
static volatile uint64_t table[64];

static void *serve(void *nothing)
{
	uint64_t sum = 0;
	(void)nothing;
	while (!done) {
		must(pthread_rwlock_rdlock(&lock) == 0);
		sum += table[sum & 63];
		sleep_us(2000);
		must(pthread_rwlock_unlock(&lock) == 0);
		sleep_us(200);
	}
	return NULL;
}

__attribute__((noinline)) static void reload(uint64_t value)
{
	must(pthread_rwlock_wrlock(&lock) == 0);
	for (int i = 0; i < 64; i++)
		table[i] = value;
	must(pthread_rwlock_unlock(&lock) == 0);
}

int main(int argc, char **argv)
{
	pthread_t readers[READERS];
	pthread_rwlockattr_t kind;
	must(pthread_rwlockattr_init(&kind) == 0);
	if (!fires(argc, argv))
		must(pthread_rwlockattr_setkind_np(&kind, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP) == 0);
	must(pthread_rwlock_init(&lock, &kind) == 0);
	for (int i = 0; i < READERS; i++) {
		must(pthread_create(&readers[i], NULL, serve, NULL) == 0);
		sleep_us(700);
	}
	for (int i = 0; i < RELOADS; i++) {
		reload((uint64_t)i);
		sleep_us(i % 2 ? 11000 : 4000);
	}
	done = 1;
	for (int i = 0; i < READERS; i++)
		must(pthread_join(readers[i], NULL) == 0);
	return 0;
}
