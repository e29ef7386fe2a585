/* A file looked for along a list of thirty folders, in the last of which it is (fires), or looked up where it is (silent). */
#include "rule.h"
#include <fcntl.h>
#include <sys/stat.h>

enum { FOLDERS = 30, MODULES = 8000 };

/* Opens the module in the first folder from there on that has it. */
__attribute__((noinline)) static void find_module(int from)
{
	for (int folder = from; folder < FOLDERS; folder++) {
		char path[64];
		snprintf(path, sizeof path, "path-%02d/module", folder);
		int file = open(path, O_RDONLY);
		if (file >= 0) {
			close(file);
			return;
		}
	}
	must(!"the module is in the last folder");
}

int main(int argc, char **argv)
{
	int along = fires(argc, argv);
	char path[64];
	for (int folder = 0; folder < FOLDERS; folder++) {
		snprintf(path, sizeof path, "path-%02d", folder);
		must(mkdir(path, 0700) == 0);
	}
	snprintf(path, sizeof path, "path-%02d/module", FOLDERS - 1);
	must(close(open(path, O_CREAT | O_WRONLY, 0600)) == 0);
	for (int module = 0; module < MODULES * (along ? 1 : FOLDERS); module++)
		find_module(along ? 0 : FOLDERS - 1);
	return 0;
}
