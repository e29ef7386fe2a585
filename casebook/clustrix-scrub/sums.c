#include "sums.h"

#include <nmmintrin.h>
#include <string.h>

#define POLYNOMIAL 0x82f63b78u /* the one that processors have an instruction for */

static uint32_t tables[8][256];

void make_tables(void)
{
	for (uint32_t n = 0; n < 256; n++) {
		uint32_t crc = n;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
		tables[0][n] = crc;
	}
	for (int slice = 1; slice < 8; slice++)
		for (int n = 0; n < 256; n++)
			tables[slice][n] = tables[slice - 1][n] >> 8 ^ tables[0][tables[slice - 1][n] & 255];
}

/* A byte at a time. Each waits for what came out of the one before. */
uint32_t crc_by_table(const unsigned char *bytes, size_t length)
{
	uint32_t crc = ~0u;

	while (length--)
		crc = crc >> 8 ^ tables[0][(crc ^ *bytes++) & 255];
	return ~crc;
}

/* Eight bytes at a time, each by its own table. All lengths are multiples of eight. */
uint32_t crc_by_slices(const unsigned char *bytes, size_t length)
{
	uint32_t crc = ~0u;

	for (; length >= 8; length -= 8, bytes += 8) {
		uint64_t word;

		memcpy(&word, bytes, 8);
		word ^= crc;
		crc = 0;
		for (int slice = 0; slice < 8; slice++)
			crc ^= tables[7 - slice][word >> (8 * slice) & 255];
	}
	return ~crc;
}

int has_instruction(void)
{
	return __builtin_cpu_supports("sse4.2");
}

__attribute__((target("sse4.2"))) uint32_t crc_by_instruction(const unsigned char *bytes, size_t length)
{
	uint64_t crc = ~0u;

	for (; length >= 8; length -= 8, bytes += 8) {
		uint64_t word;

		memcpy(&word, bytes, 8);
		crc = _mm_crc32_u64(crc, word);
	}
	return ~(uint32_t)crc;
}
