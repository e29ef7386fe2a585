/* Five answers of two megabytes over a line that carries twenty in a second (fires); and five of two hundred kilobytes,
 * for which the peer works as long (silent). */
#include "peer.h"

__attribute__((noinline)) static void fetch_list(int fd, uint32_t bytes, uint32_t work_us)
{
	struct question question = { .work_us = work_us, .answer_bytes = bytes, .piece_bytes = 20000, .pause_us = 1000,
				     .close_us = STAYS };
	must(send(fd, &question, sizeof question, 0) == sizeof question);
	must(receive(fd, bytes) == bytes);
}

int main(int argc, char **argv)
{
	int large = fires(argc, argv), fd = connect_to(FAR);
	for (int list = 0; list < 5; list++) {
		fetch_list(fd, large ? 2000000 : 20000, large ? 0 : 100000);
		compute_us(1000);
	}
	return 0;
}
