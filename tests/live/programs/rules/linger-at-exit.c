/* After its work is done it sleeps and ends (fires), or it sleeps in the midst of its work (silent). */
#include "rule.h"

int main(int argc, char **argv)
{
	int at_the_end = fires(argc, argv);
	compute_us(15000);
	if (!at_the_end) {
		sleep_us(500000);
		compute_us(15000);
	}
	puts("done");
	fflush(stdout);
	if (at_the_end) {
		compute_us(15000);
		sleep_us(500000);
	}
	return 0;
}
