/* A folder of jobs: listed from beginning to end for each job that is taken (fires), or once for all of them (silent). */
#include "rule.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#define JOBS 2000
#define TAKEN 600

static char folder[] = "jobs-XXXXXX";

static void path_of(char *path, size_t size, int job)
{
	snprintf(path, size, "%s/%05d.job", folder, job);
}

__attribute__((noinline)) static int pending(int after)
{
	DIR *jobs = opendir(folder);
	int first = JOBS;
	must(jobs);
	for (struct dirent *entry; (entry = readdir(jobs));) {
		int job = atoi(entry->d_name);
		if (entry->d_name[0] != '.' && job > after && job < first)
			first = job;
	}
	closedir(jobs);
	return first;
}

int main(int argc, char **argv)
{
	int again = fires(argc, argv), taken = -1;
	char path[64];
	must(mkdtemp(folder));
	for (int job = 0; job < JOBS; job++) {
		path_of(path, sizeof path, job);
		must(close(open(path, O_CREAT | O_WRONLY, 0600)) == 0);
	}
	for (int i = 0; i < TAKEN; i++) {
		taken = again || i == 0 ? pending(taken) : taken + 1;
		compute_us(again ? 20 : 500);
	}
	for (int job = 0; job < JOBS; job++) {
		path_of(path, sizeof path, job);
		must(unlink(path) == 0);
	}
	must(rmdir(folder) == 0);
	return taken < 0;
}
