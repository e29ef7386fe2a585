/* One file looked at before each request (fires), or every file below a folder looked at once (silent). */
#include "rule.h"
#include <ftw.h>
#include <sys/stat.h>

enum { REQUESTS = 400000 };

static long files;

__attribute__((noinline)) static long reload_if_changed(void)
{
	struct stat status;
	must(stat("/etc/passwd", &status) == 0);
	return status.st_size;
}

static int look(const char *path, const struct stat *status, int kind, struct FTW *where)
{
	(void)path, (void)status, (void)kind, (void)where;
	return ++files >= 100000;
}

int main(int argc, char **argv)
{
	long sum = 0;
	if (!fires(argc, argv)) {
		nftw("/usr", look, 50, FTW_PHYS);
		return files == 0;
	}
	for (int request = 0; request < REQUESTS; request++)
		sum += reload_if_changed();
	return sum == 0;
}
