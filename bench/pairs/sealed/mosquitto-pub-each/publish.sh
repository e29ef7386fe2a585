# Publishes 400 readings: a program for each, or all of them with one (-l).
set -eu
readings() { seq -f 'temperature %g' 400; }
if [ "${1-}" = lines ]; then
	readings | mosquitto_pub -h 127.0.0.1 -p "$PORT" -q 1 -t sensors/roof -l
else
	readings | while read -r reading; do
		mosquitto_pub -h 127.0.0.1 -p "$PORT" -q 1 -t sensors/roof -m "$reading"
	done
fi
