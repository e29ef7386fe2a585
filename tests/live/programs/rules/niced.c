/* A calculation that gives way (fires) or does not (silent), beside one for each processor that was started before. */
#include "rule.h"
#include <sys/resource.h>

int main(int argc, char **argv)
{
	if (fires(argc, argv))
		must(setpriority(PRIO_PROCESS, 0, 7) == 0);
	compute_us(600000);
	return 0;
}
