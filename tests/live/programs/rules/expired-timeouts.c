/* Signs of life that never come, each waited for a tenth of a second (fires); and such that come just before (silent). */
#include "peer.h"
#include <poll.h>

int main(int argc, char **argv)
{
	int away = fires(argc, argv), fd = connect_to(NEAR);
	for (int sign = 0; sign < 8; sign++) {
		struct question question = { .work_us = 95000, .answer_bytes = 10, .close_us = STAYS };
		struct pollfd wait = { .fd = fd, .events = POLLIN };
		if (!away)
			must(send(fd, &question, sizeof question, 0) == sizeof question);
		if (poll(&wait, 1, away ? 100 : 1000) > 0)
			must(receive(fd, 10) == 10);
		compute_us(1000);
	}
	return 0;
}
