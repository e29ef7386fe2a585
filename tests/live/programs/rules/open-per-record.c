/* A log that is opened and closed for each line (fires), or a file of its own for each message (silent). */
#include "rule.h"
#include <fcntl.h>

enum { LINES = 60000, MESSAGES = 8000 };

__attribute__((noinline)) static void append(const char *path)
{
	static const char line[] = "12:00:00 something has happened again\n";
	int file = open(path, O_CREAT | O_APPEND | O_WRONLY, 0600);
	must(file >= 0 && write(file, line, sizeof line - 1) == sizeof line - 1);
	must(close(file) == 0);
}

int main(int argc, char **argv)
{
	int one = fires(argc, argv);
	char path[32] = "events.log";
	for (int line = 0; line < (one ? LINES : MESSAGES); line++) {
		if (!one)
			snprintf(path, sizeof path, "message-%d", line);
		append(path);
	}
	return 0;
}
