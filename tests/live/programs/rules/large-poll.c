/* A message comes to one of many sockets at a time, and all are polled for each (fires), or only a few (silent). */
#include "rule.h"
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define SOCKETS 1500
#define MESSAGES 3000

static struct pollfd polled[SOCKETS];
static int ends[SOCKETS];

__attribute__((noinline)) static void deliver(int to, int many)
{
	char byte = 1;
	must(write(ends[to], &byte, 1) == 1);
	must(poll(polled, (nfds_t)many, -1) == 1);
	for (int i = 0; i < many; i++)
		if (polled[i].revents & POLLIN)
			must(read(polled[i].fd, &byte, 1) == 1);
}

int main(int argc, char **argv)
{
	int many = fires(argc, argv) ? SOCKETS : 4;
	struct rlimit files = { 4096, 4096 };
	must(setrlimit(RLIMIT_NOFILE, &files) == 0);
	for (int i = 0; i < many; i++) {
		int pair[2];
		must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
		polled[i] = (struct pollfd){ .fd = pair[0], .events = POLLIN };
		ends[i] = pair[1];
	}
	for (int i = 0; i < MESSAGES; i++) {
		deliver(i * 7 % many, many);
		compute_us(20);
	}
	return 0;
}
