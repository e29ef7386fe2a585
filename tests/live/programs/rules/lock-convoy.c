/* Four threads count under one lock, moments each time: it is handed to whoever waits longest (fires), or is a mutex, which
   whoever comes first may have (silent). */
#include "rule.h"
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

enum { TAKES = 15000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint32_t tickets, served;
static int in_line;

/* Each ticket has a bit, so that none is woken but the one whose turn it is. */
static uint32_t bit(uint32_t ticket)
{
	return 1u << ticket % 32;
}

__attribute__((noinline)) static void take(void)
{
	if (!in_line) {
		pthread_mutex_lock(&mutex);
		return;
	}
	uint32_t mine = atomic_fetch_add(&tickets, 1), now;
	while ((now = atomic_load(&served)) != mine)
		syscall(SYS_futex, &served, FUTEX_WAIT_BITSET_PRIVATE, now, NULL, NULL, bit(mine));
}

__attribute__((noinline)) static void let_go(void)
{
	if (!in_line) {
		pthread_mutex_unlock(&mutex);
		return;
	}
	uint32_t next = atomic_fetch_add(&served, 1) + 1;
	if (atomic_load(&tickets) != next)
		syscall(SYS_futex, &served, FUTEX_WAKE_BITSET_PRIVATE, 1, NULL, NULL, bit(next));
}

static void *work(void *unused)
{
	for (int n = 0; n < TAKES; n++) {
		take();
		compute_us(3);
		let_go();
		compute_us(3);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[4];
	in_line = fires(argc, argv);
	for (int n = 0; n < 4; n++)
		must(pthread_create(&threads[n], NULL, work, NULL) == 0);
	for (int n = 0; n < 4; n++)
		must(pthread_join(threads[n], NULL) == 0);
	return 0;
}
