/* Four processes that use one file: each waits for a device while it holds the lock on it (fires), or lets go of the lock first
   (silent). */
#include "rule.h"
#include <sys/file.h>
#include <sys/wait.h>

static int under_lock;

__attribute__((noinline)) static void page(FILE *session)
{
	must(flock(fileno(session), LOCK_EX) == 0);
	compute_us(100);
	if (under_lock)
		wait_us(20000);
	must(flock(fileno(session), LOCK_UN) == 0);
	if (!under_lock)
		wait_us(20000);
}

int main(int argc, char **argv)
{
	char name[] = "/tmp/timesink-file-lock-XXXXXX";
	under_lock = fires(argc, argv);
	must(mkstemp(name) >= 0);
	for (int n = 0; n < 4; n++) {
		if (fork() == 0) {
			FILE *session = fopen(name, "r+");
			must(session != NULL);
			for (int request = 0; request < 6; request++)
				page(session);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
	must(unlink(name) == 0);
	return 0;
}
