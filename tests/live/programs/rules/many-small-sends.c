/* Questions of 60 kB that are sent by the two bytes (fires), or at once to a peer that works for as long (silent). */
#include "peer.h"

#define REST 60000

__attribute__((noinline)) static void ask_in_pieces(int fd, size_t piece, uint32_t work_us)
{
	static char rest[REST];
	struct question question = { .more_bytes = REST, .work_us = work_us, 
				     .answer_bytes = 100, .close_us = STAYS };
	/* It does not wake up for each of them. */
	question.read_pause_us = 1000;
	must(send(fd, &question, sizeof question, 0) == sizeof question);
	for (size_t sent = 0; sent < REST; sent += piece)
		must(send(fd, rest + sent, piece, 0) == (ssize_t)piece);
	must(receive(fd, 100) == 100);
}

int main(int argc, char **argv)
{
	int pieces = fires(argc, argv), fd = connect_to(NEAR);
	no_delay(fd);
	for (int question = 0; question < 8; question++)
		ask_in_pieces(fd, pieces ? 2 : REST, pieces ? 0 : 60000);
	return 0;
}
