/* A calculation beside three others for each processor that nobody waits for (fires), or when they are done (silent). */
#include "rule.h"
#include <sys/wait.h>

int main(int argc, char **argv)
{
	int beside = fires(argc, argv);
	int others = 3 * (int)sysconf(_SC_NPROCESSORS_ONLN);
	for (int n = 0; n < others; n++) {
		pid_t child = fork();
		must(child >= 0);
		if (!child) {
			compute_us(beside ? 400000 : 40000);
			_exit(0);
		}
	}
	for (int n = 0; n < others && !beside; n++)
		must(wait(NULL) > 0);
	compute_us(250000);
	return 0;
}
