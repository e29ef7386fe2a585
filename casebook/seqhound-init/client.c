/*
 * Adds up the lengths of sequences.
 *
 *   client local COUNT               asks the store on this machine, through its library
 *   client PORT PATH COUNT BATCH     asks the remote interface there, about so many sequences a call
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "seqstore.h"

static char answer[1 << 16];

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static unsigned gi_of(long number)
{
	return (unsigned)(number * 801 % 50000) * 3 + 1;
}

static int connect_to(int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((unsigned short)port) };
	int peer = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (peer < 0 || connect(peer, (struct sockaddr *)&address, sizeof(address)))
		fail("connect");
	return peer;
}

/* The text of an answer that is whole; NULL as long as it is not. */
static char *whole_text(size_t have)
{
	char *text = strstr(answer, "\r\n\r\n"), *length = strstr(answer, "Content-Length: ");

	if (!text || !length)
		return NULL;
	text += 4;
	return answer + have >= text + strtoul(length + strlen("Content-Length: "), NULL, 10) ? text : NULL;
}

static char *remote_call(int port, const char *path, const char *body)
{
	char request[1 << 16], *text = NULL;
	int length = snprintf(request, sizeof(request),
			      "POST %s HTTP/1.0\r\nContent-Type: application/x-www-form-urlencoded\r\n"
			      "Content-Length: %zu\r\n\r\n%s", path, strlen(body), body);
	int peer = connect_to(port);
	size_t have = 0;
	ssize_t got = 1;

	if (write(peer, request, (size_t)length) != length)
		fail("call");
	while (!text && got > 0) {
		got = read(peer, answer + have, sizeof(answer) - 1 - have);
		have += got > 0 ? (size_t)got : 0;
		answer[have] = 0;
		text = whole_text(have);
	}
	close(peer);
	if (!text || !strstr(answer, " 200 ")) {
		fprintf(stderr, "no answer: %s\n", answer);
		exit(1);
	}
	return text;
}

static long long sum_remotely(int port, const char *path, long count, long batch)
{
	long long sum = 0;
	char body[1 << 15];

	for (long number = 0; number < count; number += batch) {
		long end = number + batch < count ? number + batch : count;
		int used = snprintf(body, sizeof(body), "fnct=SHoundGetSequenceLength&gi=");
		char *text;

		for (long each = number; each < end; each++)
			used += snprintf(body + used, sizeof(body) - (size_t)used, "%u,", gi_of(each));
		text = remote_call(port, path, body);
		while (*text)
			sum += strtol(text, &text, 10), text += strspn(text, "\n");
	}
	return sum;
}

static long long sum_locally(long count)
{
	struct seqstore *store = seqstore_open(".", "dictionary.txt", SEQSTORE_AT_ONCE);
	long long sum = 0;

	for (long number = 0; number < count; number++)
		sum += seqstore_length(store, gi_of(number));
	seqstore_close(store);
	return sum;
}

int main(int argc, char **argv)
{
	long long sum;

	if (argc == 3 && !strcmp(argv[1], "local")) {
		sum = sum_locally(atol(argv[2]));
	} else if (argc == 5) {
		sum = sum_remotely(atoi(argv[1]), argv[2], atol(argv[3]), atol(argv[4]));
	} else {
		fprintf(stderr, "usage: client local COUNT\n       client PORT PATH COUNT BATCH\n");
		return 2;
	}
	printf("%lld\n", sum);
	return 0;
}
