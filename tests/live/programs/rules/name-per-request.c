/* Fifty figures for one peer, whose name is looked up for each of them (fires); and for fifty peers with fifty names
 * (silent). */
#include "names.h"

int main(int argc, char **argv)
{
	int same = fires(argc, argv), fd = -1;
	for (int number = 0; number < 50; number++) {
		char label[32], address[32];
		snprintf(label, sizeof label, "peer%d", same ? 0 : number);
		must(look_up(FAR, label, 5000));
		snprintf(address, sizeof address, "10.77.0.%d", 3 + number);
		if (fd < 0 || !same)
			fd = connect_to(address);
		struct question figure = { .close_us = STAYS };
		must(send(fd, &figure, sizeof figure, 0) == sizeof figure);
		compute_us(300);
	}
	return 0;
}
