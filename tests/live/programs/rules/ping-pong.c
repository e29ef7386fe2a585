/* A thread asks another one over a pipe, and waits for each answer: for one item (fires), or for a thousand
   (silent). */
#include "rule.h"
#include <pthread.h>

enum { ITEMS = 40000, MOST = 1000 };

static int there[2], back[2];

static void whole(int file, char *buffer, int bytes)
{
	for (int got = 0; got < bytes;) {
		ssize_t more = read(file, buffer + got, (size_t)(bytes - got));
		must(more > 0);
		got += (int)more;
	}
}

static void *answer(void *many)
{
	int at_a_time = *(int *)many;
	char buffer[MOST];
	for (int done = 0; done < ITEMS; done += at_a_time) {
		whole(there[0], buffer, at_a_time);
		for (int n = 0; n < at_a_time; n++)
			compute_us(3);
		must(write(back[1], buffer, (size_t)at_a_time) == at_a_time);
	}
	return NULL;
}

__attribute__((noinline)) static void ask(int at_a_time)
{
	char buffer[MOST] = { 0 };
	must(write(there[1], buffer, (size_t)at_a_time) == at_a_time);
	whole(back[0], buffer, at_a_time);
}

int main(int argc, char **argv)
{
	pthread_t other;
	int at_a_time = fires(argc, argv) ? 1 : MOST;
	must(pipe(there) == 0 && pipe(back) == 0);
	must(pthread_create(&other, NULL, answer, &at_a_time) == 0);
	for (int done = 0; done < ITEMS; done += at_a_time) {
		for (int n = 0; n < at_a_time; n++)
			compute_us(3);
		ask(at_a_time);
	}
	must(pthread_join(other, NULL) == 0);
	return 0;
}
