"""Counts primes in four threads."""

from concurrent.futures import ThreadPoolExecutor


def primes(limit):
    return sum(all(n % d for d in range(2, int(n**0.5) + 1)) for n in range(2, limit))


with ThreadPoolExecutor(4) as pool:
    print(list(pool.map(primes, [60000] * 4)))
