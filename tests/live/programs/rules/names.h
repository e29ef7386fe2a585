/* Asking a name server, as the C library does: a socket for each question, and an answer that is waited for in poll. */
#ifndef NAMES_H
#define NAMES_H

#include "peer.h"
#include <poll.h>

/* Whether there was an answer in time. */
__attribute__((noinline)) static int look_up(const char *server, const char *label, int time_out_ms)
{
	unsigned char question[64] = { 0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0 }, answer[512];
	size_t name = strlen(label), length = 12;
	question[length++] = (unsigned char)name;
	memcpy(question + length, label, name);
	length += name + 1;
	question[length + 1] = 1, question[length + 3] = 1;
	struct sockaddr_in at = peer_at(server, 53);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	must(fd >= 0);
	must(connect(fd, (struct sockaddr *)&at, sizeof at) == 0);
	must(send(fd, question, length + 4, 0) == (ssize_t)length + 4);
	struct pollfd poll_ = { .fd = fd, .events = POLLIN };
	int came = poll(&poll_, 1, time_out_ms);
	if (came > 0)
		must(recv(fd, answer, sizeof answer, 0) > 0);
	close(fd);
	return came > 0;
}

#endif
