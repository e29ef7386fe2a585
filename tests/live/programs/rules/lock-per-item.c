/* Four threads count words by their length: under a lock for each word (fires), or each for itself, and merged at the end (silent). */
#include "rule.h"
#include <pthread.h>

#define THREADS 4
#define WORDS 3000000
#define LONGEST 64

static pthread_mutex_t counts_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t counts[LONGEST];
static int locks_each;

__attribute__((noinline)) static uint32_t length_of(uint32_t word)
{
	for (int i = 0; i < 4; i++)
		word = word * 2654435761u ^ word >> 13;
	return word % LONGEST;
}

__attribute__((noinline)) static void add(uint32_t length)
{
	must(pthread_mutex_lock(&counts_lock) == 0);
	counts[length]++;
	must(pthread_mutex_unlock(&counts_lock) == 0);
}

static void *count(void *first)
{
	uint64_t own[LONGEST] = { 0 };
	uint32_t word = (uint32_t)(uintptr_t)first;
	/* Whoever counts for itself has time for more. */
	int words = locks_each ? WORDS : 20 * WORDS;
	for (int i = 0; i < words; i++, word += THREADS) {
		if (locks_each)
			add(length_of(word));
		else
			own[length_of(word)]++;
	}
	must(pthread_mutex_lock(&counts_lock) == 0);
	for (int i = 0; i < LONGEST; i++)
		counts[i] += own[i];
	must(pthread_mutex_unlock(&counts_lock) == 0);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	locks_each = fires(argc, argv);
	for (uintptr_t i = 0; i < THREADS; i++)
		must(pthread_create(&threads[i], NULL, count, (void *)i) == 0);
	for (int i = 0; i < THREADS; i++)
		must(pthread_join(threads[i], NULL) == 0);
	printf("%lu\n", (unsigned long)counts[1]);
	return 0;
}
