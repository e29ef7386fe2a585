from multiprocessing import Pool


def total(start):
    return sum(number * number % 7 for number in range(start, start + 1_000_000))


if __name__ == "__main__":
    with Pool(2) as pool:
        print(sum(pool.map(total, range(0, 24_000_000, 1_000_000), chunksize=4)))
