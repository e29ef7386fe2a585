"""Puts 600 documents into a TinyDB: one by one, or as one."""
import sys

from tinydb import TinyDB

documents = [{"n": n, "text": f"document {n} " * 8} for n in range(600)]
db = TinyDB("db.json")
if sys.argv[1:] == ["multiple"]:
    db.insert_multiple(documents)
else:
    for document in documents:
        db.insert(document)
