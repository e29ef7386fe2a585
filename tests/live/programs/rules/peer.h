/* What the programs that ask a peer share with it: where it is, how it is asked, and what it is asked for. */
#ifndef PEER_H
#define PEER_H

#include "rule.h"
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

/* The peer is in a network of its own. It can be reached at once by NEAR, and over a way that takes its time by all
 * addresses of 10.77.0.x from .2 on. */
#define NEAR "127.0.0.1"
#define FAR "10.77.0.2"
#define PORT 7000
/* Nobody ever answers a question for a name there. */
#define DEAD_NAMES "127.0.0.66"

#define STAYS 0xffffffffu

/* A question says itself how it is to be answered. */
struct question {
	uint32_t more_bytes; /* of the question that follow */
	uint32_t work_us; /* the peer works for so long */
	uint32_t answer_bytes;
	uint32_t piece_bytes; /* the answer comes in such pieces; 0: all at once */
	uint32_t pause_us; /* after each piece */
	uint32_t read_pause_us; /* the peer takes the rest of the question in pieces, and pauses so long after each */
	uint32_t close_us; /* after so long it closes the connection, or STAYS */
};

static inline struct sockaddr_in peer_at(const char *address, int port)
{
	struct sockaddr_in peer = { .sin_family = AF_INET, .sin_port = htons(port) };
	must(inet_pton(AF_INET, address, &peer.sin_addr) == 1);
	return peer;
}

__attribute__((noinline, unused)) static int connect_to(const char *address)
{
	struct sockaddr_in peer = peer_at(address, PORT);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	must(fd >= 0);
	must(connect(fd, (struct sockaddr *)&peer, sizeof peer) == 0);
	return fd;
}

static inline void no_delay(int fd)
{
	int on = 1;
	must(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0);
}

/* So many bytes of an answer, or all up to its end. */
__attribute__((noinline, unused)) static size_t receive(int fd, size_t bytes)
{
	static char answer[1 << 16];
	size_t got = 0;
	while (got < bytes) {
		size_t want = bytes - got < sizeof answer ? bytes - got : sizeof answer;
		ssize_t part = recv(fd, answer, want, 0);
		must(part >= 0);
		if (part == 0)
			break;
		got += (size_t)part;
	}
	return got;
}

/* A question that is sent at once and needs so much work, and its answer of so many bytes. */
__attribute__((noinline, unused)) static void ask(int fd, uint32_t work_us, uint32_t bytes)
{
	struct question question = { .work_us = work_us, .answer_bytes = bytes, .close_us = STAYS };
	must(send(fd, &question, sizeof question, 0) == sizeof question);
	must(receive(fd, bytes) == bytes);
}

#endif
