/*
 * A pipeline as for video: frames are decoded, made smaller, encoded, each by a process of its own.
 *
 *   frames decode COUNT | frames scale | frames encode
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 640
#define HEIGHT 360

static uint8_t frame[HEIGHT][WIDTH], small[HEIGHT / 2][WIDTH / 2];

__attribute__((noinline)) static void decode_frame(unsigned number)
{
	uint32_t state = number * 2654435761u + 1;

	for (int y = 0; y < HEIGHT; y++)
		for (int x = 0; x < WIDTH; x++) {
			state = state * 1664525 + 1013904223;
			frame[y][x] = (uint8_t)((x + y + number) / 4 + (state >> 30));
		}
}

__attribute__((noinline)) static void scale_frame(void)
{
	for (int y = 0; y < HEIGHT / 2; y++)
		for (int x = 0; x < WIDTH / 2; x++) {
			int sum = 0;

			for (int dy = -1; dy <= 2; dy++)
				for (int dx = -1; dx <= 2; dx++) {
					int row = 2 * y + dy, column = 2 * x + dx;

					row = row < 0 ? 0 : row >= HEIGHT ? HEIGHT - 1 : row;
					column = column < 0 ? 0 : column >= WIDTH ? WIDTH - 1 : column;
					sum += frame[row][column];
				}
			small[y][x] = (uint8_t)(sum / 16);
		}
}

/* Differences to the left, in runs. */
__attribute__((noinline)) static size_t encode_frame(uint8_t *out)
{
	size_t length = 0;

	for (int y = 0; y < HEIGHT / 2; y++)
		for (int x = 1, run = 0; x < WIDTH / 2; x++) {
			uint8_t difference = (uint8_t)(small[y][x] - small[y][x - 1]);

			if (difference == 0 && ++run < 255)
				continue;
			out[length++] = (uint8_t)run;
			out[length++] = difference;
			run = 0;
		}
	return length;
}

int main(int argc, char **argv)
{
	static uint8_t out[HEIGHT * WIDTH];
	const char *stage = argc > 1 ? argv[1] : "";

	setvbuf(stdin, NULL, _IOFBF, 1 << 18);
	setvbuf(stdout, NULL, _IOFBF, 1 << 18);
	if (!strcmp(stage, "decode") && argc == 3) {
		for (unsigned number = 0; number < (unsigned)atoi(argv[2]); number++) {
			decode_frame(number);
			fwrite(frame, sizeof(frame), 1, stdout);
		}
	} else if (!strcmp(stage, "scale")) {
		while (fread(frame, sizeof(frame), 1, stdin)) {
			scale_frame();
			fwrite(small, sizeof(small), 1, stdout);
		}
	} else if (!strcmp(stage, "encode")) {
		while (fread(small, sizeof(small), 1, stdin))
			fwrite(out, 1, encode_frame(out), stdout);
	} else {
		fprintf(stderr, "usage: frames decode COUNT | frames scale | frames encode\n");
		return 2;
	}
	return 0;
}
