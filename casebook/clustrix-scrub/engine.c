/*
 * A small storage engine: transactions that change a row each, a log, a replica, and a scrub that looks whether old blocks are
 * still whole.
 *
 *	engine slow|slice8|instruction|moved TRANSACTIONS
 *	engine speed
 *
 * Two loops run continuations, each on a core of its own: one manages transactions and sends to the replica, the other has the
 * data. A block has a checksum, and so has a record of the log and a message. Whoever wants one asks for it and goes on when it
 * is there, so on a stack all of them look the same: the loop, the checksum.
 *
 * slow		the checksum takes a byte at a time; the scrub stands in the queue of the management core, and its steps come in
 *		turn with those of transactions
 * slice8	the checksum takes eight bytes at a time
 * instruction	the checksum is the processor's
 * moved	that, and the scrub has a loop of its own, niced, on the core with the data
 *
 * The replica and the disk are memory here: what is looked at is what the processors do.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "loop.h"
#include "sums.h"

enum {
	BLOCK = 32 << 10,
	ROW = 64,
	ROWS = BLOCK / ROW,
	BLOCKS_EACH = 4, /* of a client */
	OLD_BLOCKS = 512,
	CLIENTS = 48, /* each has one transaction at a time */
	SCRUB_AHEAD = 20, /* so many old blocks are looked at at a time */
	STATEMENT = 24 << 10,
	RECORD = 4 << 10, /* of the log */
	RECORDS = 256,
	MESSAGE = 8 << 10, /* to the replica */
	SCRUB_NICE = 19,
};

struct block {
	unsigned char bytes[BLOCK];
	uint32_t sum;
	uint64_t rows; /* of old blocks: a digest of their rows */
};

/* Somebody wants the checksum of something, and goes on when it is there. */
struct sum {
	struct step step;
	struct loop *loop;
	const unsigned char *bytes;
	size_t length;
	uint32_t value;
	struct step *then;
};

struct client {
	struct step step;
	struct sum sum;
	struct block blocks[BLOCKS_EACH]; /* nobody else writes them: there are no locks */
	struct block *block;
	uint64_t known[BLOCKS_EACH][ROWS]; /* digests of the rows that the replica has */
	unsigned row;
	unsigned number; /* of its transactions */
	uint64_t began_ns;
	char statement[STATEMENT];
	unsigned char record[RECORD], message[MESSAGE];
};

struct scrub {
	struct step step;
	struct sum sum;
	struct block *block;
};

static struct loop management, data, background;
static struct loop *scrub_loop;
static sum_function *checksum;

static struct client clients[CLIENTS];
static struct scrub scrubs[SCRUB_AHEAD];
static struct block old[OLD_BLOCKS];
static unsigned long scrubbed;
static unsigned char logged[RECORDS][RECORD], sent[CLIENTS][MESSAGE];
static unsigned long records;

static long begun, committed, wanted;
static uint64_t *latencies_ns;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void damaged(const char *what)
{
	fprintf(stderr, "%s is damaged\n", what);
	exit(1);
}

/* A digest of some text, a byte at a time. */
static uint64_t digest(const unsigned char *bytes, size_t length)
{
	uint64_t value = 0xcbf29ce484222325u;

	while (length--) {
		value = (value ^ *bytes++) * 0x100000001b3u;
		value ^= value >> 32;
	}
	return value;
}

/* All checksums of the engine are made here, whoever wants them. */
static void sum_step(struct step *step)
{
	struct sum *sum = of_step(step, struct sum);

	{
		TIMESINK_TAG("crc");
		sum->value = checksum(sum->bytes, sum->length);
	}
	step_ready(sum->loop, sum->then);
}

static void sum_later(struct loop *loop, struct sum *sum, const unsigned char *bytes, size_t length, struct step *then,
		      void (*run)(struct step *))
{
	step_hold(then, run);
	sum->loop = loop;
	sum->bytes = bytes;
	sum->length = length;
	sum->then = then;
	step_later(loop, &sum->step, sum_step);
}

/* The scrub: is an old block what its checksum says, and are its rows what they were? There is always a next one. */

static void scrub_checked(struct step *step);

static void scrub_next(struct scrub *scrub)
{
	scrub->block = &old[scrubbed++ % OLD_BLOCKS];
	sum_later(scrub_loop, &scrub->sum, scrub->block->bytes, BLOCK, &scrub->step, scrub_checked);
}

static void scrub_start(struct step *step)
{
	scrub_next(of_step(step, struct scrub));
}

static uint64_t digest_of_rows(const struct block *block)
{
	uint64_t value = 0;

	for (unsigned row = 0; row < ROWS; row++)
		value = value * 31 + digest(block->bytes + row * ROW, ROW);
	return value;
}

static void scrub_checked(struct step *step)
{
	struct scrub *scrub = of_step(step, struct scrub);

	if (scrub->sum.value != scrub->block->sum || digest_of_rows(scrub->block) != scrub->block->rows)
		damaged("an old block");
	scrub_next(scrub);
}

/* A transaction: begin, read, write, log, send, commit. What follows is called by the loops alone. */

static void txn_begin(struct step *step);

static void txn_commit(struct step *step)
{
	struct client *client = of_step(step, struct client);

	latencies_ns[committed++] = now_ns() - client->began_ns;
	if (committed == wanted) {
		loop_end(&data);
		loop_end(&background);
		loop_end(&management);
	} else if (begun < wanted) {
		step_as("txn/begin", &management, step, txn_begin);
	}
}

static void message_summed(struct step *step)
{
	struct client *client = of_step(step, struct client);

	memcpy(client->message, &client->sum.value, sizeof(client->sum.value));
	memcpy(sent[client - clients], client->message, MESSAGE);
	step_as("txn/commit", &management, step, txn_commit);
}

/* The rows that the replica does not have as they are. */
static void send(struct step *step)
{
	struct client *client = of_step(step, struct client);
	uint64_t *known = client->known[client->block - client->blocks];
	size_t length = 8;

	for (unsigned row = 0; row < ROWS; row++) {
		const unsigned char *bytes = client->block->bytes + row * ROW;
		uint64_t value = digest(bytes, ROW);

		if (value != known[row] && length + ROW <= MESSAGE) {
			memcpy(client->message + length, bytes, ROW);
			length += ROW;
			known[row] = value;
		}
	}
	sum_later(&management, &client->sum, client->message, MESSAGE, step, message_summed);
}

static void record_summed(struct step *step)
{
	struct client *client = of_step(step, struct client);

	memcpy(client->record, &client->sum.value, sizeof(client->sum.value));
	memcpy(logged[records++ % RECORDS], client->record, RECORD);
	step_as("replication/send", &management, step, send);
}

static void log_append(struct step *step)
{
	struct client *client = of_step(step, struct client);
	unsigned char *row = client->block->bytes + client->row * ROW;

	for (size_t at = 8; at + ROW <= RECORD; at += ROW)
		memcpy(client->record + at, row, ROW);
	sum_later(&data, &client->sum, client->record, RECORD, step, record_summed);
}

static void block_summed(struct step *step)
{
	struct client *client = of_step(step, struct client);

	client->block->sum = client->sum.value;
	step_as("storage/log", &data, step, log_append);
}

static void row_write(struct step *step)
{
	struct client *client = of_step(step, struct client);

	snprintf((char *)client->block->bytes + client->row * ROW, ROW, "%u of %u", client->number, client->row);
	sum_later(&data, &client->sum, client->block->bytes, BLOCK, step, block_summed);
}

/* Rows are in no order: the one that is wanted is found by its digest. */
static void row_find(struct step *step)
{
	struct client *client = of_step(step, struct client);
	uint64_t least = UINT64_MAX;

	for (unsigned row = 0; row < ROWS; row++) {
		uint64_t value = digest(client->block->bytes + row * ROW, ROW);

		if (value < least) {
			least = value;
			client->row = row;
		}
	}
	step_as("storage/write", &data, step, row_write);
}

static void block_checked(struct step *step)
{
	struct client *client = of_step(step, struct client);

	if (client->sum.value != client->block->sum)
		damaged("a block");
	row_find(step);
}

/* Three blocks of four are still known to be whole. */
static void block_read(struct step *step)
{
	struct client *client = of_step(step, struct client);

	client->block = &client->blocks[client->number % BLOCKS_EACH];
	if (client->number / BLOCKS_EACH % 4 == 0)
		sum_later(&data, &client->sum, client->block->bytes, BLOCK, step, block_checked);
	else
		row_find(step);
}

/* The statement that comes with it is long, as statements that programs write are. */
static void txn_begin(struct step *step)
{
	struct client *client = of_step(step, struct client);

	begun++;
	client->began_ns = now_ns();
	if (digest((const unsigned char *)client->statement, STATEMENT) == 0)
		damaged("a statement");
	client->number++;
	step_as("storage/read", &data, step, block_read);
}

static void fill(struct block *block, unsigned seed)
{
	for (size_t at = 0; at < BLOCK; at++)
		block->bytes[at] = (unsigned char)((at + seed) * 2654435761u >> 13);
	block->sum = crc_by_table(block->bytes, BLOCK);
}

static void prepare(void)
{
	for (unsigned n = 0; n < OLD_BLOCKS; n++) {
		fill(&old[n], n);
		old[n].rows = digest_of_rows(&old[n]);
	}
	for (unsigned n = 0; n < CLIENTS; n++) {
		for (unsigned block = 0; block < BLOCKS_EACH; block++)
			fill(&clients[n].blocks[block], n * BLOCKS_EACH + block);
		memset(clients[n].statement, 'a' + (int)n, STATEMENT);
	}
	/* All ways come to the same, or nothing that follows is true. */
	if (crc_by_slices(old[0].bytes, BLOCK) != old[0].sum ||
	    (has_instruction() && crc_by_instruction(old[0].bytes, BLOCK) != old[0].sum))
		damaged("a checksum");
}

static sum_function *the_instruction(void)
{
	if (has_instruction())
		return crc_by_instruction;
	fprintf(stderr, "this processor has no instruction for CRC-32C: eight bytes at a time instead\n");
	return crc_by_slices;
}

/* The first two processors that we may run on. */
static void processors(int cpus[2])
{
	cpu_set_t allowed;
	int found = 0;

	CPU_ZERO(&allowed);
	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++)
		if (CPU_ISSET(cpu, &allowed))
			cpus[found++] = cpu;
	if (found == 1) {
		fprintf(stderr, "there is one processor only: both loops share it\n");
		cpus[1] = cpus[0];
	}
}

static void speed_of(const char *name, sum_function *sum)
{
	uint64_t began = now_ns();
	uint32_t all = 0;

	for (unsigned n = 0; n < 4 * OLD_BLOCKS; n++)
		all += sum(old[n % OLD_BLOCKS].bytes, BLOCK);
	printf("%-12s %6.0f MB/s (%08x)\n", name, 4.0 * OLD_BLOCKS * BLOCK * 1e3 / (double)(now_ns() - began), all);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void run(bool moved)
{
	int cpus[2] = { 0, 0 };
	uint64_t began;
	double seconds;

	processors(cpus);
	loop_init(&management, "management", cpus[0], 0);
	loop_init(&data, "data", cpus[1], 0);
	loop_init(&background, "background", cpus[1], SCRUB_NICE);
	scrub_loop = moved ? &background : &management;
	for (unsigned n = 0; n < CLIENTS; n++)
		step_as("txn/begin", &management, &clients[n].step, txn_begin);
	for (unsigned n = 0; n < SCRUB_AHEAD; n++)
		step_as("storage/scrub", scrub_loop, &scrubs[n].step, scrub_start);
	timesink_tag_clear();
	began = now_ns();
	loop_start(&management);
	loop_start(&data);
	if (moved)
		loop_start(&background);
	pthread_join(management.thread, NULL);
	pthread_join(data.thread, NULL);
	if (moved)
		pthread_join(background.thread, NULL);
	seconds = (double)(now_ns() - began) / 1e9;
	qsort(latencies_ns, (size_t)wanted, sizeof(*latencies_ns), by_value);
	printf("%ld transactions in %.3f s: %.0f/s, p50 %.2f ms, p99 %.2f ms; %.0f old blocks checked per second\n", wanted, seconds,
	       (double)wanted / seconds, (double)latencies_ns[wanted / 2] / 1e6, (double)latencies_ns[wanted * 99 / 100] / 1e6,
	       (double)scrubbed / seconds);
}

int main(int argc, char **argv)
{
	const char *form = argc > 1 ? argv[1] : "";

	make_tables();
	prepare();
	if (argc == 2 && !strcmp(form, "speed")) {
		speed_of("table", crc_by_table);
		speed_of("slices", crc_by_slices);
		speed_of("instruction", the_instruction());
		return 0;
	}
	if (!strcmp(form, "slow"))
		checksum = crc_by_table;
	else if (!strcmp(form, "slice8"))
		checksum = crc_by_slices;
	else if (!strcmp(form, "instruction") || !strcmp(form, "moved"))
		checksum = the_instruction();
	wanted = argc == 3 ? atol(argv[2]) : 0;
	latencies_ns = wanted > 0 ? calloc((size_t)wanted, sizeof(*latencies_ns)) : NULL;
	if (!checksum || !latencies_ns) {
		fprintf(stderr, "usage: engine slow|slice8|instruction|moved TRANSACTIONS, or engine speed\n");
		return 2;
	}
	run(!strcmp(form, "moved"));
	return 0;
}
