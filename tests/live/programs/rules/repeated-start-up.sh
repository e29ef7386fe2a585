#!/bin/sh
# Python started for each item, mostly to load what it needs (fires), or to work for longer than it needs to start (silent).
program='import argparse, decimal, email.message, http.client, json, logging, sys, time
end = time.process_time() + float(sys.argv[1])
while time.process_time() < end:
    json.loads(json.dumps(list(range(100))))'
case "$1" in
fires) work=0.001 many=20 ;;
silent) work=0.2 many=10 ;;
*) exit 1 ;;
esac
item=0
while [ "$item" -lt "$many" ]; do
	/usr/bin/python3 -c "$program" "$work" || exit 1
	item=$((item + 1))
done
