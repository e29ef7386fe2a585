#include "seqstore.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* As makedata writes them, in the order of their numbers. */
struct record {
	uint32_t gi;
	uint32_t length;
};

struct term {
	char *name;
	char *definition;
};

struct seqstore {
	int records;
	long count;
	char *dictionary;
	struct term *terms;
	size_t term_count;
};

static void *must(void *pointer, const char *what)
{
	if (!pointer) {
		perror(what);
		exit(1);
	}
	return pointer;
}

static char *joined(const char *folder, const char *file)
{
	char *path = must(malloc(strlen(folder) + strlen(file) + 2), "memory");

	sprintf(path, "%s/%s", folder, file);
	return path;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct term *)a)->name, ((const struct term *)b)->name);
}

static struct term parse_term(char *line)
{
	char *definition = strchr(line, '\t');

	line[strcspn(line, "\n")] = 0;
	if (definition)
		*definition++ = 0;
	return (struct term) {
		must(strdup(line), "memory"),
		must(strdup(definition ? definition : ""), "memory"),
	};
}

/* A term a line, in no order. They are put into one, to be found by halves. */
static void load_dictionary(struct seqstore *store)
{
	FILE *file = must(fopen(store->dictionary, "r"), store->dictionary);
	size_t room = 0, length = 0;
	char *line = NULL;

	while (getline(&line, &length, file) > 0) {
		if (store->term_count == room) {
			room = room ? room * 2 : 1024;
			store->terms = must(realloc(store->terms, room * sizeof(*store->terms)), "memory");
		}
		store->terms[store->term_count++] = parse_term(line);
	}
	free(line);
	fclose(file);
	qsort(store->terms, store->term_count, sizeof(*store->terms), by_name);
}

struct seqstore *seqstore_open(const char *folder, const char *dictionary, enum seqstore_load load)
{
	struct seqstore *store = must(calloc(1, sizeof(*store)), "memory");
	char *records = joined(folder, "sequences.dat");

	store->dictionary = joined(folder, dictionary);
	store->records = open(records, O_RDONLY);
	if (store->records < 0)
		must(NULL, records);
	store->count = lseek(store->records, 0, SEEK_END) / (long)sizeof(struct record);
	free(records);
	if (load == SEQSTORE_AT_ONCE)
		load_dictionary(store);
	return store;
}

long seqstore_length(struct seqstore *store, unsigned gi)
{
	long low = 0, high = store->count;

	while (low < high) {
		long middle = (low + high) / 2;
		struct record record;

		if (pread(store->records, &record, sizeof(record), middle * (long)sizeof(record)) != sizeof(record))
			return -1;
		if (record.gi == gi)
			return record.length;
		if (record.gi < gi)
			low = middle + 1;
		else
			high = middle;
	}
	return -1;
}

const char *seqstore_definition(struct seqstore *store, const char *term)
{
	struct term wanted = { (char *)term, NULL }, *found;

	if (!store->terms)
		load_dictionary(store);
	found = bsearch(&wanted, store->terms, store->term_count, sizeof(*store->terms), by_name);
	return found ? found->definition : NULL;
}

void seqstore_close(struct seqstore *store)
{
	for (size_t at = 0; at < store->term_count; at++) {
		free(store->terms[at].name);
		free(store->terms[at].definition);
	}
	free(store->terms);
	free(store->dictionary);
	close(store->records);
	free(store);
}
