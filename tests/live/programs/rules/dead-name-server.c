/* The first of two name servers never answers, and half a second is waited for it each time (fires); or the one that is
 * asked answers, and what is waited for is a time-out that does not end anything (silent). */
#include "names.h"

int main(int argc, char **argv)
{
	int dead = fires(argc, argv);
	for (int number = 0; number < 3; number++) {
		if (dead)
			must(!look_up(DEAD_NAMES, "peer", 500));
		else
			must(poll(NULL, 0, 500) == 0);
		must(look_up(NEAR, "peer", 500));
		int fd = connect_to(NEAR);
		ask(fd, 0, 100);
		close(fd);
	}
	return 0;
}
