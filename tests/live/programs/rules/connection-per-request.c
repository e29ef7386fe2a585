/* Fifty questions to a peer five milliseconds away, each over a connection of its own (fires), or over one that is kept
 * (silent), where the peer takes as much longer as a connection does. */
#include "peer.h"

#define QUESTIONS 50

__attribute__((noinline)) static void fetch(int per_request)
{
	static int kept = -1;
	int fd = per_request || kept < 0 ? connect_to(FAR) : kept;
	ask(fd, per_request ? 0 : 5000, 300);
	if (per_request)
		close(fd);
	else
		kept = fd;
}

int main(int argc, char **argv)
{
	int per_request = fires(argc, argv);
	for (int question = 0; question < QUESTIONS; question++) {
		fetch(per_request);
		compute_us(500);
	}
	return 0;
}
