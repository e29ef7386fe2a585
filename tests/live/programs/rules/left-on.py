"""Counts by calling itself, often enough that a profiler makes up much of it; the pair runs it with one, and without."""


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


print(fibonacci(27), sum(i * i for i in range(3_000_000)))
