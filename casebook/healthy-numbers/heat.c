/* How heat spreads over a plate: each point becomes the mean of its neighbours, again and again. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SIDE 600

static double plate[2][SIDE][SIDE];

__attribute__((noinline)) static double spread(double (*from)[SIDE], double (*to)[SIDE])
{
	double change = 0;

	for (int y = 1; y < SIDE - 1; y++)
		for (int x = 1; x < SIDE - 1; x++) {
			to[y][x] = (from[y - 1][x] + from[y + 1][x] + from[y][x - 1] + from[y][x + 1]) / 4;
			change += fabs(to[y][x] - from[y][x]);
		}
	return change;
}

int main(int argc, char **argv)
{
	int steps = argc == 2 ? atoi(argv[1]) : 100;
	double change = 0;

	for (int x = 0; x < SIDE; x++)
		plate[0][0][x] = plate[1][0][x] = 100;
	for (int step = 0; step < steps; step++)
		change = spread(plate[step & 1], plate[!(step & 1)]);
	printf("%g\n", change);
	return 0;
}
