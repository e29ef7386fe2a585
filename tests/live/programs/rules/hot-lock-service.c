/* Four threads ask a service, which is in the same program and sleeps 5 ms before it responds: under one lock (fires), or each as it
   likes (silent). That the service sleeps is told after the lock. */
#include "rule.h"
#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>

enum { ASKING = 4, QUESTIONS = 50 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sockaddr_in address = { .sin_family = AF_INET };
static int under_lock;

static void *respond(void *connection)
{
	char question;

	while (read((int)(intptr_t)connection, &question, 1) == 1) {
		sleep_us(5000);
		must(write((int)(intptr_t)connection, &question, 1) == 1);
	}
	return NULL;
}

static void *serve(void *listening)
{
	for (int n = 0; n < ASKING; n++) {
		pthread_t thread;
		intptr_t connection = accept((int)(intptr_t)listening, NULL, NULL);

		must(connection >= 0 && pthread_create(&thread, NULL, respond, (void *)connection) == 0);
		must(pthread_detach(thread) == 0);
	}
	return NULL;
}

__attribute__((noinline)) static void ask(int connection)
{
	char response;

	if (under_lock)
		pthread_mutex_lock(&lock);
	must(write(connection, "?", 1) == 1 && read(connection, &response, 1) == 1);
	if (under_lock)
		pthread_mutex_unlock(&lock);
}

static void *work(void *unused)
{
	int connection = socket(AF_INET, SOCK_STREAM, 0);

	must(connection >= 0 && connect(connection, (struct sockaddr *)&address, sizeof address) == 0);
	for (int n = 0; n < QUESTIONS; n++) {
		ask(connection);
		compute_us(200);
	}
	return unused;
}

int main(int argc, char **argv)
{
	int listening = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t length = sizeof address;
	pthread_t threads[ASKING], server;

	under_lock = fires(argc, argv);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	must(bind(listening, (struct sockaddr *)&address, sizeof address) == 0 && listen(listening, ASKING) == 0);
	must(getsockname(listening, (struct sockaddr *)&address, &length) == 0);
	must(pthread_create(&server, NULL, serve, (void *)(intptr_t)listening) == 0);
	for (int n = 0; n < ASKING; n++)
		must(pthread_create(&threads[n], NULL, work, NULL) == 0);
	for (int n = 0; n < ASKING; n++)
		must(pthread_join(threads[n], NULL) == 0);
	return 0;
}
