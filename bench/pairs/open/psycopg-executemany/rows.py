import os

import psycopg

with psycopg.connect(f"host=127.0.0.1 port={os.environ['PORT']} user=postgres dbname=postgres") as connection:
    cursor = connection.cursor()
    cursor.execute("create temp table t(a int, b text)")
    cursor.executemany("insert into t values(%s, %s)", [(number, "x" * 20) for number in range(10000)])
