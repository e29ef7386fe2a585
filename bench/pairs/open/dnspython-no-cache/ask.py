"""Looks three names up, 500 times each: as the resolver comes, or with a cache."""
import os
import sys

import dns.resolver

resolver = dns.resolver.Resolver(configure=False)
resolver.nameservers = ["127.0.0.1"]
resolver.port = int(os.environ["PORT"])
if sys.argv[1:] == ["cache"]:
    resolver.cache = dns.resolver.LRUCache()
for n in range(1500):
    resolver.resolve(f"host{n % 3}.example.org.", "A")
