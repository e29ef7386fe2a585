/* Records here and there in a file that is not in memory (fires), or as many of them one after the other, which the
 * kernel reads ahead, and then here and there when all of it is in memory (silent). */
#include "rule.h"
#include <fcntl.h>

enum { RECORD = 4096, RECORDS = 8000 };

/* Every other record is asked for, so that none is beside one that is in memory already. */
static const off_t SIZE = (off_t)2 * RECORD * RECORDS;

/* A file that is on the disk and nowhere else. */
static int file_on_disk(void)
{
	static char piece[1 << 20];
	int file = open("records.db", O_CREAT | O_TRUNC | O_RDWR, 0600);
	must(file >= 0);
	for (off_t at = 0; at < SIZE; at += sizeof piece)
		must(write(file, piece, SIZE - at < (off_t)sizeof piece ? SIZE - at : (off_t)sizeof piece) > 0);
	must(fdatasync(file) == 0);
	must(posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0);
	return file;
}

__attribute__((noinline)) static int record(int file, off_t at)
{
	static char record[RECORD];
	must(pread(file, record, sizeof record, at) == sizeof record);
	return record[0];
}

__attribute__((noinline)) static int look_up(int file)
{
	int sum = 0, at = 0;
	for (int question = 0; question < RECORDS; question++) {
		at = (at + 3779) % RECORDS;
		sum += record(file, (off_t)at * 2 * RECORD);
	}
	return sum;
}

int main(int argc, char **argv)
{
	int cold = fires(argc, argv), file = file_on_disk(), sum = 0;
	for (off_t at = 0; at < SIZE && !cold; at += RECORD)
		sum += record(file, at);
	return sum + look_up(file) != 0;
}
