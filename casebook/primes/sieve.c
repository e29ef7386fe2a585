/* Counts the primes below a limit with a sieve whose elements are ints or bits. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static long sieve_of_ints(long limit)
{
	int *composite = calloc((size_t)limit, sizeof(*composite));
	long primes = 0;

	if (!composite)
		return -1;
	for (long n = 2; n < limit; n++) {
		if (composite[n])
			continue;
		primes++;
		for (long multiple = n * n; multiple < limit; multiple += n)
			composite[multiple] = 1;
	}
	free(composite);
	return primes;
}

__attribute__((noinline)) static long sieve_of_bits(long limit)
{
	uint64_t *composite = calloc((size_t)limit / 64 + 1, sizeof(*composite));
	long primes = 0;

	if (!composite)
		return -1;
	for (long n = 2; n < limit; n++) {
		if (composite[n >> 6] >> (n & 63) & 1)
			continue;
		primes++;
		for (long multiple = n * n; multiple < limit; multiple += n)
			composite[multiple >> 6] |= 1ull << (multiple & 63);
	}
	free(composite);
	return primes;
}

int main(int argc, char **argv)
{
	long limit = argc == 3 ? atol(argv[2]) : 0, primes;

	if (limit < 2) {
		fprintf(stderr, "usage: sieve ints|bits LIMIT\n");
		return 2;
	}
	primes = strcmp(argv[1], "bits") ? sieve_of_ints(limit) : sieve_of_bits(limit);
	printf("%ld primes below %ld\n", primes, limit);
	return primes < 0;
}
