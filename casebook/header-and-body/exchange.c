/*
 * Requests of a header and a body, each answered with a byte.
 *
 *   exchange serve PORT             answers whoever connects, one after the other
 *   exchange apart PORT COUNT       sends header and body by themselves
 *   exchange together PORT COUNT    sends them in one
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEADER 16
#define BODY 200

static struct sockaddr_in here(const char *port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(port)) };

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return address;
}

static int take(int peer, char *into, size_t length)
{
	for (size_t got = 0; got < length; ) {
		ssize_t more = read(peer, into + got, length - got);

		if (more <= 0)
			return 0;
		got += (size_t)more;
	}
	return 1;
}

static int serve(const char *port)
{
	struct sockaddr_in address = here(port);
	int listener = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
	char request[HEADER + BODY];

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(listener, (void *)&address, sizeof(address)) || listen(listener, 8)) {
		perror("listen");
		return 1;
	}
	for (;;) {
		int peer = accept(listener, NULL, NULL);

		while (take(peer, request, sizeof(request)))
			if (write(peer, "y", 1) != 1)
				break;
		close(peer);
	}
}

__attribute__((noinline)) static void ask(int server, int apart)
{
	char request[HEADER + BODY] = { 'q' }, answer;
	size_t first = apart ? HEADER : sizeof(request);

	if (write(server, request, first) != (ssize_t)first)
		exit(1);
	if (apart && write(server, request + first, BODY) != BODY)
		exit(1);
	if (!take(server, &answer, 1))
		exit(1);
}

int main(int argc, char **argv)
{
	struct sockaddr_in address;
	int server;

	if (argc == 3 && !strcmp(argv[1], "serve"))
		return serve(argv[2]);
	if (argc != 4) {
		fprintf(stderr, "usage: exchange serve PORT | exchange apart|together PORT COUNT\n");
		return 2;
	}
	address = here(argv[2]);
	server = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(server, (void *)&address, sizeof(address))) {
		perror("connect");
		return 1;
	}
	for (int count = atoi(argv[3]); count > 0; count--)
		ask(server, !strcmp(argv[1], "apart"));
	return 0;
}
