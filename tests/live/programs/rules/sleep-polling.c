/* Looks now and then whether a thread has all its answers (fires), or sleeps as often while it has none, and then waits
 * for its end itself (silent). */
#include "peer.h"
#include <pthread.h>
#include <stdatomic.h>

static atomic_int done;

static void *fetch_all(void *unused_)
{
	(void)unused_;
	int fd = connect_to(NEAR);
	for (int answer = 0; answer < 6; answer++)
		ask(fd, 105000, 100);
	done = 1;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int looks = fires(argc, argv);
	must(pthread_create(&thread, NULL, fetch_all, NULL) == 0);
	for (int sleeps = 0; looks ? !done : sleeps < 3; sleeps++)
		sleep_us(150000);
	pthread_join(thread, NULL);
	return 0;
}
