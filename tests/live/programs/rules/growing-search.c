/* Names that come in through a pipe, each kept if it is new: looked for among all that came before (fires), or in a
 * table by its hash, and then as much time spent on each of them (silent). */
#include "rule.h"

enum { NAMES = 30000, LENGTH = 128, SLOTS = 1 << 16 };

static char kept[NAMES][LENGTH];
static int count, slots[SLOTS];

/* What comes through the pipe: all names are different. */
static void make(FILE *out)
{
	for (unsigned n = 0; n < NAMES; n++)
		fprintf(out, "what is known of an item comes first, and goes on and on and on, and last of all %s%08x\n",
			"comes its number: ", n * 2654435761u);
	fclose(out);
}

__attribute__((noinline)) static int among_all(const char *name)
{
	for (int at = 0; at < count; at++)
		if (!strcmp(kept[at], name))
			return 1;
	return 0;
}

__attribute__((noinline)) static int by_hash(const char *name)
{
	uint32_t hash = 2166136261u;
	for (const char *byte = name; *byte; byte++)
		hash = (hash ^ (unsigned char)*byte) * 16777619u;
	for (uint32_t slot = hash % SLOTS;; slot = (slot + 1) % SLOTS) {
		if (!slots[slot]) {
			slots[slot] = count + 1;
			return 0;
		}
		if (!strcmp(kept[slots[slot] - 1], name))
			return 1;
	}
}

int main(int argc, char **argv)
{
	int search = fires(argc, argv);
	char line[LENGTH];
	FILE *in = from_child(make);
	while (fgets(line, sizeof line, in)) {
		int known = search ? among_all(line) : by_hash(line);
		if (!known)
			strcpy(kept[count++], line);
		if (!search)
			compute_us(40);
	}
	must(count == NAMES);
	return 0;
}
