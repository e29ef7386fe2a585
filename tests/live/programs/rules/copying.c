/* A queue kept in an array, whose first is taken by moving all others up (fires), or a ring of which each item is copied a
 * few times on its way, while the program mostly computes (silent). */
#include "rule.h"

enum { JOBS = 80000, SILENT_JOBS = 20000, COPIES = 100, STEPS = 40000 };

struct job {
	uint64_t number, kind;
};

struct queue {
	struct job *jobs;
	size_t first, count;
};

__attribute__((noinline)) static struct job take(struct queue *queue)
{
	struct job first = queue->jobs[0];
	queue->count--;
	memmove(queue->jobs, queue->jobs + 1, queue->count * sizeof first);
	return first;
}

__attribute__((noinline)) static struct job take_from_ring(struct queue *queue)
{
	queue->count--;
	return queue->jobs[queue->first++];
}

/* The job with all that belongs to it, which stays in the nearest cache. */
__attribute__((noinline)) static uint64_t hand_over(struct job *job)
{
	static char from[8192], to[8192];
	volatile size_t bytes = sizeof from;
	memcpy(from, job, sizeof *job);
	for (int copy = 0; copy < COPIES; copy++)
		memmove(to, from, bytes);
	return (uint64_t)to[0];
}

__attribute__((noinline)) static uint64_t work_on(struct job *job)
{
	uint64_t sum = job->number;
	for (int step = 0; step < STEPS; step++)
		sum = (sum ^ (uint64_t)step) * 1099511628211u;
	return sum;
}

int main(int argc, char **argv)
{
	int moves = fires(argc, argv);
	size_t jobs = moves ? JOBS : SILENT_JOBS;
	struct queue queue = { malloc(jobs * sizeof(struct job)), 0, 0 };
	uint64_t sum = 0;
	must(queue.jobs);
	while (queue.count < jobs) {
		queue.jobs[queue.count] = (struct job){ queue.count, queue.count % 7 };
		queue.count++;
	}
	while (moves && queue.count)
		sum += take(&queue).number;
	while (queue.count) {
		struct job job = take_from_ring(&queue);
		sum += hand_over(&job) + work_on(&job);
	}
	return sum == 1;
}
