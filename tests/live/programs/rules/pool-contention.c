/* Twelve threads ask a peer that is 20 ms away, ten times each, and have two connections for that: who has none waits until another
 * one gives its own back (fires). The silent form has a connection for each thread, and the threads wait for one that hands out what
 * to ask. */
#include "peer.h"
#include <pthread.h>

#define THREADS 12
#define TIMES 10

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t some = PTHREAD_COND_INITIALIZER;
static int few;
/* Connections that nobody has; of the silent form the questions that nobody asks yet. */
static int free_ones[THREADS], left, to_ask, over;

__attribute__((noinline)) static void fetch(int fd)
{
	struct question question = { .answer_bytes = 200, .close_us = STAYS };
	char answer[200];
	size_t got = 0;
	must(send(fd, &question, sizeof question, 0) == sizeof question);
	while (got < sizeof answer) {
		ssize_t part = recv(fd, answer + got, sizeof answer - got, 0);
		must(part > 0);
		got += (size_t)part;
	}
}

__attribute__((noinline)) static int take_connection(void)
{
	pthread_mutex_lock(&lock);
	while (!left)
		pthread_cond_wait(&some, &lock);
	int fd = free_ones[--left];
	pthread_mutex_unlock(&lock);
	return fd;
}

__attribute__((noinline)) static void give_back(int fd)
{
	pthread_mutex_lock(&lock);
	free_ones[left++] = fd;
	pthread_cond_signal(&some);
	pthread_mutex_unlock(&lock);
}

/* Whether there is something to ask. */
__attribute__((noinline)) static int next_question(void)
{
	pthread_mutex_lock(&lock);
	while (!to_ask && !over)
		pthread_cond_wait(&some, &lock);
	int is_one = to_ask > 0;
	to_ask -= is_one;
	pthread_mutex_unlock(&lock);
	return is_one;
}

static void *work(void *nothing)
{
	(void)nothing;
	if (few) {
		for (int at = 0; at < TIMES; at++) {
			int fd = take_connection();
			fetch(fd);
			give_back(fd);
			compute_us(100);
		}
	} else {
		int fd = take_connection();
		while (next_question())
			fetch(fd);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	few = fires(argc, argv);
	left = few ? 2 : THREADS;
	for (int at = 0; at < left; at++) {
		free_ones[at] = connect_to(FAR);
		no_delay(free_ones[at]);
	}
	for (int at = 0; at < THREADS; at++)
		must(pthread_create(&threads[at], NULL, work, NULL) == 0);
	for (int at = 0; !few && at < THREADS * TIMES; at++) {
		compute_us(5000);
		pthread_mutex_lock(&lock);
		to_ask++;
		pthread_cond_signal(&some);
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_lock(&lock);
	over = 1;
	pthread_cond_broadcast(&some);
	pthread_mutex_unlock(&lock);
	for (int at = 0; at < THREADS; at++)
		must(pthread_join(threads[at], NULL) == 0);
	return 0;
}
