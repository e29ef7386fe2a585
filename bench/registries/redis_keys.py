"""redis-py asks for each key and waits, unless the questions are put together."""
import sys

import redis

client = redis.Redis(port=18432)
if sys.argv[1] == "after":
    pipeline = client.pipeline(transaction=False)
    for number in range(20000):
        pipeline.set(f"key {number}", number)
    pipeline.execute()
else:
    for number in range(20000):
        client.set(f"key {number}", number)
