"""Two processes share a work: nine tenths and one tenth of it (fires), or half each (silent)."""

import hashlib
import multiprocessing
import sys


def part(seed):
    digest = bytes([seed % 256])
    for _ in range(20_000):
        digest = hashlib.sha256(digest).digest()
    return digest[0]


def work(parts):
    return sum(part(n) for n in range(parts))


def main():
    shares = [90, 10] if sys.argv[1] == "fires" else [50, 50]
    workers = [multiprocessing.Process(target=work, args=(parts,)) for parts in shares]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


if __name__ == "__main__":
    main()
