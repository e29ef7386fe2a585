/* Loops that run continuations in turn, one loop per thread. */
#ifndef LOOP_H
#define LOOP_H

#include <pthread.h>
#include <stdbool.h>

#include "timesink.h"

/*
 * A piece of work that goes on later. It is part of what it works on. Nobody who started it is on the stack when it runs; what
 * it is for is in its tags alone.
 */
struct step {
	void (*run)(struct step *step);
	struct step *next;
	timesink_tags held;
};

struct loop {
	const char *name;
	int cpu;
	int nice;
	bool over;
	struct step *first, **last;
	pthread_mutex_t lock;
	pthread_cond_t more;
	pthread_t thread;
};

#define of_step(step, type) ((type *)((char *)(step) - __builtin_offsetof(type, step)))

void loop_init(struct loop *loop, const char *name, int cpu, int nice);
void loop_start(struct loop *loop);
void loop_end(struct loop *loop);

/* Goes on with this, with the tags of who asks. */
void step_later(struct loop *loop, struct step *step, void (*run)(struct step *));
/* The same, as work of another module. */
void step_as(const char *module, struct loop *loop, struct step *step, void (*run)(struct step *));
/* Keeps the tags of who asks, for a step that is made ready by something else. */
void step_hold(struct step *step, void (*run)(struct step *));
void step_ready(struct loop *loop, struct step *step);

#endif
