/*
 * A store that checks each of its blocks as it reads them, and does little else.
 *
 *   store table|slices|processor BLOCKS
 */
#include <nmmintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK (32 << 10)
#define KEPT 64
#define POLYNOMIAL 0x82f63b78u /* CRC-32C, the one that processors have an instruction for */

static uint32_t tables[8][256];

static void make_tables(void)
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

/* A byte at a time. */
__attribute__((noinline)) static uint32_t crc_by_table(const unsigned char *bytes, size_t length)
{
	uint32_t crc = ~0u;

	while (length--)
		crc = crc >> 8 ^ tables[0][(crc ^ *bytes++) & 255];
	return ~crc;
}

/* Eight bytes at a time, each by its own table. */
__attribute__((noinline)) static uint32_t crc_by_slices(const unsigned char *bytes, size_t length)
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

/* Eight bytes at a time, by the processor's own instruction. */
__attribute__((noinline, target("sse4.2"))) static uint32_t crc_by_processor(const unsigned char *bytes, size_t length)
{
	uint64_t crc = ~0u;

	for (; length >= 8; length -= 8, bytes += 8) {
		uint64_t word;

		memcpy(&word, bytes, 8);
		crc = _mm_crc32_u64(crc, word);
	}
	return ~(uint32_t)crc;
}

typedef uint32_t checksum(const unsigned char *, size_t);

/* What is looked for in a block once it is known to be whole. */
__attribute__((noinline)) static unsigned count_keys(const unsigned char *block)
{
	unsigned keys = 0;

	for (size_t at = 0; at < BLOCK; at += 64)
		keys += block[at] == 'k';
	return keys;
}

__attribute__((noinline)) static unsigned verify_all(unsigned char *blocks, const uint32_t *sums, long count, checksum *sum)
{
	unsigned keys = 0;

	for (long n = 0; n < count; n++) {
		const unsigned char *block = blocks + (size_t)(n % KEPT) * BLOCK;

		if (sum(block, BLOCK) != sums[n % KEPT]) {
			fprintf(stderr, "block %ld is damaged\n", n);
			exit(1);
		}
		keys += count_keys(block);
	}
	return keys;
}

int main(int argc, char **argv)
{
	unsigned char *blocks = malloc((size_t)KEPT * BLOCK);
	uint32_t sums[KEPT];
	checksum *sum;

	if (argc != 3 || !blocks) {
		fprintf(stderr, "usage: store table|slices|processor BLOCKS\n");
		return 2;
	}
	sum = !strcmp(argv[1], "table") ? crc_by_table : !strcmp(argv[1], "slices") ? crc_by_slices : crc_by_processor;
	make_tables();
	for (size_t at = 0; at < (size_t)KEPT * BLOCK; at++)
		blocks[at] = (unsigned char)(at * 2654435761u >> 13);
	/* All three agree, or the store is damaged. */
	for (int n = 0; n < KEPT; n++)
		sums[n] = crc_by_table(blocks + (size_t)n * BLOCK, BLOCK);
	printf("%u keys\n", verify_all(blocks, sums, atol(argv[2]), sum));
	return 0;
}
