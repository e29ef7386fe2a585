/* What the programs of the rules share: which form is asked for, and time that passes on a processor or asleep. */
#ifndef RULE_H
#define RULE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/* Ends the program when something that cannot fail did. */
#define must(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, strerror(errno)); \
			exit(1); \
		} \
	} while (0)

/* 1 for `fires`, 0 for `silent`. */
static inline int fires(int argc, char **argv)
{
	must(argc == 2 && (!strcmp(argv[1], "fires") || !strcmp(argv[1], "silent")));
	return !strcmp(argv[1], "fires");
}

static inline uint64_t now_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* So long on a processor, in this thread's own time. That is read by a system call: no more often than it takes to be right to a twentieth. */
__attribute__((noinline, unused)) static void compute_us(uint64_t us)
{
	uint64_t end = now_ns(CLOCK_THREAD_CPUTIME_ID) + us * 1000;
	int steps = us > 2000 ? 200000 : us < 10 ? 1000 : (int)us * 100;
	volatile uint64_t sum = 0;
	while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		for (int i = 0; i < steps; i++)
			sum += (uint64_t)i * (uint64_t)i;
}

/* What a child writes, through a pipe. */
__attribute__((unused)) static FILE *from_child(void (*make)(FILE *out))
{
	int ends[2];
	must(pipe(ends) == 0);
	if (fork() == 0) {
		close(ends[0]);
		make(fdopen(ends[1], "w"));
		_exit(0);
	}
	close(ends[1]);
	return fdopen(ends[0], "r");
}

/* So long asleep. */
static inline void sleep_us(uint64_t us)
{
	struct timespec time = { (time_t)(us / 1000000), (long)(us % 1000000) * 1000 };
	while (nanosleep(&time, &time) && errno == EINTR)
		;
}

/* So long for something that is no sleep to whoever looks: a descriptor that a timer makes readable. */
static inline void wait_us(uint64_t us)
{
	struct itimerspec once = { .it_value = { (time_t)(us / 1000000), (long)(us % 1000000) * 1000 } };
	uint64_t times;
	int timer = timerfd_create(CLOCK_MONOTONIC, 0);
	must(timer >= 0 && timerfd_settime(timer, 0, &once, NULL) == 0);
	must(read(timer, &times, sizeof times) == sizeof times);
	close(timer);
}

#endif
