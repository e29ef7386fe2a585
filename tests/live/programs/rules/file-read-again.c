/* A table of zones loaded from its file for each question (fires), or as many tables loaded once each (silent). */
#include "rule.h"

enum { QUESTIONS = 900, ZONES = 4000, TABLES = 300 };

struct zone {
	char name[24];
	long offset;
};

static struct zone zones[ZONES];

__attribute__((noinline)) static void write_zones(const char *path)
{
	FILE *file = fopen(path, "w");
	must(file);
	for (int zone = 0; zone < ZONES; zone++)
		fprintf(file, "%d zone-%d\n", zone * 37, zone);
	must(fclose(file) == 0);
}

__attribute__((noinline)) static void parse_line(const char *line, struct zone *zone)
{
	char *name;
	zone->offset = strtol(line, &name, 10);
	must(*name++ == ' ');
	snprintf(zone->name, sizeof zone->name, "%.*s", (int)strcspn(name, "\n"), name);
}

__attribute__((noinline)) static void load_zones(const char *path)
{
	char line[64];
	int count = 0;
	FILE *file = fopen(path, "r");
	must(file);
	while (count < ZONES && fgets(line, sizeof line, file))
		parse_line(line, zones + count++);
	fclose(file);
}

__attribute__((noinline)) static long local_time(const char *path, int question)
{
	load_zones(path);
	compute_us(200);
	return zones[question % ZONES].offset;
}

int main(int argc, char **argv)
{
	int again = fires(argc, argv);
	char path[32];
	long sum = 0;
	for (int zone = 0; zone < (again ? 1 : TABLES); zone++) {
		snprintf(path, sizeof path, "zones-%d.txt", zone);
		write_zones(path);
	}
	for (int question = 0; question < (again ? QUESTIONS : TABLES); question++) {
		snprintf(path, sizeof path, "zones-%d.txt", again ? 0 : question);
		sum += local_time(path, question);
	}
	return sum == 0;
}
