"""A child holds the database for 80 ms of each 100; the report asks 30 questions."""
import os
import sqlite3
import sys
import time

first = sqlite3.connect("rows.db")
first.execute(f"pragma journal_mode={sys.argv[1]}")
with first:
    first.execute("create table t(a)")
    first.executemany("insert into t values (?)", [(number,) for number in range(1000)])
first.close()

child = os.fork()
db = sqlite3.connect("rows.db", timeout=30, isolation_level=None)
if child == 0:
    while os.getppid() != 1 and not os.path.exists("done"):
        db.execute("begin exclusive")
        db.execute("insert into t values (0)")
        time.sleep(0.08)
        db.execute("commit")
        time.sleep(0.02)
    os._exit(0)
for _ in range(30):
    time.sleep(0.005)
    db.execute("select count(*), sum(a) from t").fetchone()
open("done", "w").close()
os.waitpid(child, 0)
