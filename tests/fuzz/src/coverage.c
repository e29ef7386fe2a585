/*
 * Linked into programs that are built with counters for each branch (`make fuzz`). It puts the counters into the file that
 * TIMESINK_COVERAGE names, where whoever started the program reads them: also those of its children, and after its end.
 *
 * The file has as many bytes again as there are counters: 1 where a function begins. What lies in the counters' first and last page
 * together with other data stays in the program and is not told.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096
#define FUNCTION_BEGINS 1

struct place {
	uintptr_t code;
	uintptr_t flags;
};

static unsigned char *counters;
static unsigned char *counters_end;

/* Clang's names. Each object file has them called with all that the linker put together. */
void __sanitizer_cov_8bit_counters_init(unsigned char *start, unsigned char *stop);
void __sanitizer_cov_pcs_init(const struct place *start, const struct place *stop);

void __sanitizer_cov_8bit_counters_init(unsigned char *start, unsigned char *stop)
{
	counters = start;
	counters_end = stop;
}

/* Makes the file as long as it has to be, and notes where functions begin. 0: it is not to be used. */
static int prepare(int file, size_t length, const struct place *places)
{
	struct stat about;
	unsigned char *begins;

	if (fstat(file, &about) || (about.st_size && about.st_size != (off_t)(2 * length)))
		return 0;
	if (about.st_size)
		return 1;
	if (ftruncate(file, 2 * length))
		return 0;
	begins = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, length);
	if (begins == MAP_FAILED)
		return 0;
	for (size_t at = 0; at < length; at++)
		begins[at] = places[at].flags & FUNCTION_BEGINS;
	munmap(begins, length);
	return 1;
}

void __sanitizer_cov_pcs_init(const struct place *start, const struct place *stop)
{
	static int done;
	const char *path = getenv("TIMESINK_COVERAGE");
	size_t skipped = -(uintptr_t)counters % PAGE;
	size_t length = counters_end - counters;
	int file;

	if (done || !path || length != (size_t)(stop - start) || length < skipped + PAGE)
		return;
	done = 1;
	length = (length - skipped) / PAGE * PAGE;
	file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (file < 0)
		return;
	if (prepare(file, length, start + skipped))
		mmap(counters + skipped, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
	close(file);
}
