/* A peer that is not there is tried again and again, with pauses that double (fires); and pauses that double, too, but
 * between them something is done that does not fail (silent). */
#include "peer.h"

__attribute__((noinline)) static int try_once(int port)
{
	struct sockaddr_in peer = peer_at(NEAR, port);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	int result = connect(fd, (struct sockaddr *)&peer, sizeof peer);
	close(fd);
	return result;
}

int main(int argc, char **argv)
{
	int away = fires(argc, argv);
	for (int round = 0; round < 2; round++)
		for (uint64_t ms = 10; ms < 1000; ms *= 2) {
			must((try_once(away ? PORT + 1 : PORT) != 0) == away);
			sleep_us(ms * 1000);
			compute_us(1000);
		}
	return 0;
}
