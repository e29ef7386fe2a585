#!/bin/sh
# Inserts rows into an SQLite file, each with a commit of its own: inserts.sh STATEMENTS FILE
#
# STATEMENTS is a file that bench/overhead.py writes once, so that making them is not timed. The
# command-line tool is used and not Python, whose start alone would be a tenth of the time.
exec sqlite3 -batch "$2" < "$1"
