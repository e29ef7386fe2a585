// A server on a port of its own, and its clients, which are children of it. Each tenth request sleeps in slow_request.
//
//   server one REQUESTS       one connection, one thread
//   server threads REQUESTS   a connection and a thread for each request
//   server loop REQUESTS      two connections, one thread that waits for both with epoll
//
// It ends when its clients have.

#include <arpa/inet.h>
#include <err.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SLOW_NS (20 * 1000 * 1000)
#define THINK_NS (2 * 1000 * 1000)

static struct sockaddr_in address;
static int requests;

static void nap(long ns)
{
	struct timespec length = { .tv_nsec = ns };

	while (nanosleep(&length, &length))
		;
}

__attribute__((noinline)) static void slow_request(void)
{
	nap(SLOW_NS);
	__asm__ volatile("" ::: "memory");
}

// One request; zero at the end of the connection.
__attribute__((noinline)) static int answer(int connection)
{
	static int count;
	char text[4];

	if (read(connection, text, sizeof(text)) != sizeof(text))
		return 0;
	if (__atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST) % 10 == 0)
		slow_request();
	if (write(connection, text, sizeof(text)) != sizeof(text))
		err(1, "write");
	return 1;
}

static void ask(int connection)
{
	char text[4] = "ask";

	if (write(connection, text, sizeof(text)) != sizeof(text) ||
	    read(connection, text, sizeof(text)) != sizeof(text))
		err(1, "asking");
	nap(THINK_NS);
}

static int connected(void)
{
	int connection = socket(AF_INET, SOCK_STREAM, 0), yes = 1;

	if (connect(connection, (struct sockaddr *)&address, sizeof(address)))
		err(1, "connect");
	setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	return connection;
}

static void client(int listening, int connections, int each)
{
	pid_t child = fork();

	if (child < 0)
		err(1, "fork");
	if (child)
		return;
	close(listening);
	for (int i = 0; i < connections; i++) {
		int connection = connected();

		for (int j = 0; j < each; j++)
			ask(connection);
		close(connection);
	}
	_exit(0);
}

static void *serve(void *connection)
{
	while (answer((int)(long)connection))
		;
	close((int)(long)connection);
	return NULL;
}

static int accepted(int listening)
{
	int connection = accept(listening, NULL, NULL);

	if (connection < 0)
		err(1, "accept");
	return connection;
}

static void loop(int listening)
{
	int several = epoll_create1(0), left = 2;

	for (int i = 0; i < 2; i++) {
		struct epoll_event event = { .events = EPOLLIN };

		event.data.fd = accepted(listening);
		epoll_ctl(several, EPOLL_CTL_ADD, event.data.fd, &event);
	}
	while (left) {
		struct epoll_event ready[2];
		int count = epoll_wait(several, ready, 2, -1);

		for (int i = 0; i < count; i++) {
			if (answer(ready[i].data.fd))
				continue;
			close(ready[i].data.fd);
			left--;
		}
	}
}

int main(int argc, char **argv)
{
	int listening = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t length = sizeof(address);

	if (argc != 3)
		errx(2, "server one|threads|loop REQUESTS");
	requests = atoi(argv[2]);
	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(listening, (struct sockaddr *)&address, sizeof(address)) || listen(listening, 16) ||
	    getsockname(listening, (struct sockaddr *)&address, &length))
		err(1, "listening");
	if (!strcmp(argv[1], "one")) {
		client(listening, 1, requests);
		serve((void *)(long)accepted(listening));
	} else if (!strcmp(argv[1], "loop")) {
		client(listening, 1, requests / 2);
		client(listening, 1, requests / 2);
		loop(listening);
	} else {
		client(listening, requests, 1);
		for (int i = 0; i < requests; i++) {
			pthread_t thread;
			int connection = accepted(listening);

			if (pthread_create(&thread, NULL, serve, (void *)(long)connection))
				errx(1, "pthread_create");
			pthread_detach(thread);
		}
		nap(2 * SLOW_NS);
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
