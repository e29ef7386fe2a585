#define _GNU_SOURCE
#include "loop.h"

#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

void step_hold(struct step *step, void (*run)(struct step *))
{
	step->run = run;
	step->held = timesink_tag_capture();
}

/* First come, first served: a loop does not know which work is urgent. */
void step_ready(struct loop *loop, struct step *step)
{
	bool was_empty;

	step->next = NULL;
	pthread_mutex_lock(&loop->lock);
	was_empty = !loop->first;
	*loop->last = step;
	loop->last = &step->next;
	pthread_mutex_unlock(&loop->lock);
	if (was_empty)
		pthread_cond_signal(&loop->more);
}

void step_later(struct loop *loop, struct step *step, void (*run)(struct step *))
{
	step_hold(step, run);
	step_ready(loop, step);
}

/* What it costs to hand it over is not that module's yet. */
void step_as(const char *module, struct loop *loop, struct step *step, void (*run)(struct step *))
{
	timesink_tag_clear();
	timesink_tag_push(module);
	step_hold(step, run);
	timesink_tag_clear();
	step_ready(loop, step);
}

static struct step *next_step(struct loop *loop)
{
	struct step *step;

	pthread_mutex_lock(&loop->lock);
	while (!loop->first && !loop->over)
		pthread_cond_wait(&loop->more, &loop->lock);
	step = loop->over ? NULL : loop->first;
	if (step) {
		loop->first = step->next;
		if (!loop->first)
			loop->last = &loop->first;
	}
	pthread_mutex_unlock(&loop->lock);
	return step;
}

static void *run_loop(void *with)
{
	struct loop *loop = with;
	struct step *step;

	pthread_setname_np(pthread_self(), loop->name);
	/* On Linux a thread has a nice value of its own. */
	if (loop->nice && setpriority(PRIO_PROCESS, (id_t)gettid(), loop->nice))
		perror("setpriority");
	while ((step = next_step(loop))) {
		timesink_tag_resume(&step->held);
		step->run(step);
		timesink_tag_clear();
	}
	return NULL;
}

void loop_init(struct loop *loop, const char *name, int cpu, int nice)
{
	*loop = (struct loop){ .name = name, .cpu = cpu, .nice = nice };
	loop->last = &loop->first;
	pthread_mutex_init(&loop->lock, NULL);
	pthread_cond_init(&loop->more, NULL);
}

void loop_start(struct loop *loop)
{
	pthread_attr_t attributes;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(loop->cpu, &cpus);
	pthread_attr_init(&attributes);
	pthread_attr_setaffinity_np(&attributes, sizeof(cpus), &cpus);
	if (pthread_create(&loop->thread, &attributes, run_loop, loop)) {
		fprintf(stderr, "no thread for %s\n", loop->name);
		exit(1);
	}
	pthread_attr_destroy(&attributes);
}

/* What is still in the queue is not run any more. */
void loop_end(struct loop *loop)
{
	pthread_mutex_lock(&loop->lock);
	loop->over = true;
	pthread_mutex_unlock(&loop->lock);
	pthread_cond_signal(&loop->more);
}
