/* Sixty rows of a peer that is ten milliseconds away, asked for one by one (fires), or all at once (silent): the same
 * calls, and the same answers. */
#include "peer.h"

#define ROWS 60

__attribute__((noinline)) static void fetch_row(int fd)
{
	ask(fd, 0, 200);
}

int main(int argc, char **argv)
{
	int fd;
	if (fires(argc, argv)) {
		fd = connect_to(FAR);
		for (int row = 0; row < ROWS; row++) {
			fetch_row(fd);
			compute_us(300);
		}
	} else {
		/* A second connection, on which the questions are under way together. */
		struct question question = { .answer_bytes = 200, .close_us = STAYS };
		fd = connect_to(FAR);
		no_delay(fd);
		for (int row = 0; row < ROWS; row++)
			must(send(fd, &question, sizeof question, 0) == sizeof question);
		for (int row = 0; row < ROWS; row++) {
			must(receive(fd, 200) == 200);
			compute_us(10000);
		}
	}
	return 0;
}
