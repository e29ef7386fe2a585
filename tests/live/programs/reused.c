/*
 * Code that is made, runs, and is thrown away: other code takes its place. It says so in a map, as runtimes do,
 * each time before it runs. `reused MS`: so long each of two functions runs.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* push rbp; mov rbp, rsp; 1: dec rdi; jnz 1b; pop rbp; ret */
static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0x5d, 0xc3 };

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
	double ms = argc > 1 ? atof(argv[1]) : 100;
	static const char *const names[] = { "first", "second" };
	char path[64];
	FILE *map;
	void *place = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	map = fopen(path, "we");
	if (place == MAP_FAILED || !map)
		return 1;
	for (int i = 0; i < 2; i++) {
		double end = now() + ms;

		memset(place, 0xcc, 4096);
		memcpy(place, code, sizeof(code));
		fprintf(map, "%lx %zx %s\n", (unsigned long)place, sizeof(code), names[i]);
		fflush(map);
		while (now() < end)
			((void (*)(long))place)(1000000);
	}
	fclose(map);
	return 0;
}
