/* Events for a peer that takes them slowly (fires); and for one that takes them at once, where as much time is waited
 * for its answer (silent). */
#include "peer.h"

#define EVENTS 4000

__attribute__((noinline)) static void report_event(int fd)
{
	static char event[1000];
	must(send(fd, event, sizeof event, 0) == sizeof event);
}

int main(int argc, char **argv)
{
	int slow = fires(argc, argv), fd = connect_to(NEAR), little = 100000;
	must(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &little, sizeof little) == 0);
	struct question question = { .more_bytes = EVENTS * 1000, .answer_bytes = 1, .close_us = STAYS };
	question.read_pause_us = slow ? 16000 : 0;
	question.work_us = slow ? 0 : 700000;
	must(send(fd, &question, sizeof question, 0) == sizeof question);
	for (int event = 0; event < EVENTS; event++)
		report_event(fd);
	must(receive(fd, 1) == 1);
	return 0;
}
