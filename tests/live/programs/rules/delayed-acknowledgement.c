/* Twenty questions, each sent in two pieces: the second one waits until the first is acknowledged, which the peer puts
 * off (fires). With no delay on the sender's side it does not, and the peer is as slow for itself (silent). */
#include "peer.h"

__attribute__((noinline)) static void ask_in_two(int fd, uint32_t work_us)
{
	struct question question = { .more_bytes = 20, .work_us = work_us, .answer_bytes = 100, .close_us = STAYS };
	char rest[20] = { 0 };
	must(send(fd, &question, sizeof question, 0) == sizeof question);
	must(send(fd, rest, sizeof rest, 0) == sizeof rest);
	must(receive(fd, 100) == 100);
}

int main(int argc, char **argv)
{
	int held_back = fires(argc, argv), fd = connect_to(NEAR);
	if (!held_back)
		no_delay(fd);
	for (int question = 0; question < 20; question++) {
		ask_in_two(fd, held_back ? 0 : 42000);
		compute_us(500);
	}
	return 0;
}
