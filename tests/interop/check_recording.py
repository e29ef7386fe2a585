"""Checks that a recording opens in DuckDB and pandas as it is, without anything of ours.

    python check_recording.py FOLDER

Reads every table with both, compares row counts with the manifest and sums with each other, and
runs the queries of FORMAT.md. Prints one line for each table; exits with 1 at the first difference.
"""

import json
import os
import re
import sys
import zlib

import duckdb
import pandas as pd


def fail(text):
    sys.exit(f"check_recording: {text}")


def check(condition, text):
    if not condition:
        fail(text)


def ask(query):
    """The rows that DuckDB answers with."""
    return duckdb.connect().execute(query).fetchall()


def check_table(folder, entry):
    name = entry["name"]
    path = os.path.join(folder, name + ".parquet")
    with open(path, "rb") as file:
        data = file.read()
    check(len(data) == entry["bytes"], f"{name}: {len(data)} bytes, the manifest says {entry['bytes']}")
    check(zlib.crc32(data) == entry["crc32"], f"{name}: the checksum differs")

    source = "'" + path.replace("'", "''") + "'"
    columns = [(row[0], row[1]) for row in ask(f"describe select * from {source}")]
    frame = pd.read_parquet(path, dtype_backend="pyarrow")
    check(len(frame) == entry["rows"], f"{name}: pandas sees {len(frame)} rows, not {entry['rows']}")
    rows = ask(f"select count(*) from {source}")[0][0]
    check(rows == entry["rows"], f"{name}: DuckDB sees {rows} rows, not {entry['rows']}")
    check(list(frame.columns) == [column for column, _ in columns], f"{name}: the columns differ")
    for column, kind in columns:
        check_column(name, column, kind, frame[column].dropna(), source)
    print(f"{name:16} {rows:9} rows, {len(columns):2} columns, {len(data):10} bytes")


def check_column(name, column, kind, values, source):
    """DuckDB and pandas see as many values, and the same sum of them (of text: of its bytes)."""
    if kind == "BIGINT":
        # Python's integers do not overflow, and DuckDB is told to use 128 bits.
        expression, ours = f'"{column}"::hugeint', sum(int(value) for value in values)
    elif kind == "BOOLEAN":
        expression, ours = f'"{column}"::int', sum(bool(value) for value in values)
    elif kind == "VARCHAR":
        expression, ours = f'strlen("{column}")', sum(len(value.encode()) for value in values)
    else:
        fail(f"{name}.{column}: DuckDB reads it as {kind}")
    count, theirs = ask(f'select count("{column}"), sum({expression}) from {source}')[0]
    check(count == len(values), f"{name}.{column}: DuckDB sees {count} values, pandas {len(values)}")
    check((theirs or 0) == ours, f"{name}.{column}: DuckDB sums to {theirs}, pandas to {ours}")


def check_spans(folder):
    """Each span refers to a thread, its words are words, and differences of columns do not wrap."""
    os.chdir(folder)
    lost = ask("select count(*) from 'spans.parquet' anti join 'threads.parquet' using (thread)")[0][0]
    check(lost == 0, f"spans: {lost} rows of threads that are not in threads")
    negative = ask("select count(*) from 'spans.parquet' where t1 - t0 < 0")[0][0]
    check(negative == 0, f"spans: {negative} rows end before they begin")


def check_documented_queries(document):
    """The examples in FORMAT.md run as they stand."""
    with open(document, encoding="utf-8") as file:
        text = file.read()
    queries = [q for block in re.findall(r"```sql\n(.*?)```", text, re.S) for q in block.split(";") if q.strip()]
    check(len(queries) >= 3, "FORMAT.md has lost its queries")
    for query in queries:
        ask(query)
    programs = re.findall(r"```python\n(.*?)```", text, re.S)
    check(programs, "FORMAT.md has lost its Python")
    for program in programs:
        exec(program, {})
    print(f"{len(queries)} queries and {len(programs)} programs of FORMAT.md run")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = sys.argv[1]
    document = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../FORMAT.md")
    with open(os.path.join(folder, "recording.json"), encoding="utf-8") as file:
        manifest = json.load(file)
    with open(document, encoding="utf-8") as file:
        version = re.search(r"The version of this format: (\d+)\.", file.read())
    check(version, "FORMAT.md has lost its version")
    check(manifest["format_version"] == int(version[1]), f"FORMAT.md is about version {version[1]}")
    check(manifest["tables"], "the manifest names no tables")
    for entry in manifest["tables"]:
        check_table(folder, entry)
    check_spans(folder)
    check_documented_queries(document)


main()
