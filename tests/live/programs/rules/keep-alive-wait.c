/* Calls whose answers are read up to their end, and the peer closes half a second after it has answered (fires); and
 * a peer that works for half a second and closes at once (silent). */
#include "peer.h"

__attribute__((noinline)) static void call(uint32_t work_us, uint32_t close_us)
{
	struct question question = { .work_us = work_us, .answer_bytes = 100, .close_us = close_us };
	int fd = connect_to(NEAR);
	must(send(fd, &question, sizeof question, 0) == sizeof question);
	must(receive(fd, 1000) == 100);
	close(fd);
}

int main(int argc, char **argv)
{
	int kept = fires(argc, argv);
	for (int calls = 0; calls < 4; calls++) {
		call(kept ? 2000 : 500000, kept ? 500000 : 0);
		compute_us(2000);
	}
	return 0;
}
