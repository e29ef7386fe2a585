/* Ten feeds of ten slow peers, fetched one after the other (fires); and ten of one peer, each of which says where the
 * next is (silent). */
#include "peer.h"

__attribute__((noinline)) static void fetch_feed(const char *address)
{
	int fd = connect_to(address);
	ask(fd, 100000, 20000);
	close(fd);
}

int main(int argc, char **argv)
{
	int many = fires(argc, argv);
	for (int feed = 0; feed < 10; feed++) {
		char address[32];
		snprintf(address, sizeof address, "10.77.0.%d", many ? 10 + feed : 2);
		fetch_feed(address);
		compute_us(2000);
	}
	return 0;
}
