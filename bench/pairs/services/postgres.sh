# PostgreSQL in the work folder on $PORT, as user postgres where we are root; a commit reaches the disk.
set -eu
PATH=$(ls -d /usr/lib/postgresql/*/bin | tail -1):$PATH
mkdir -p data
as=""
if [ "$(id -u)" = 0 ]; then
	chown postgres . data
	as="setpriv --reuid=postgres --regid=postgres --clear-groups --inh-caps=+dac_override --ambient-caps=+dac_override"
fi
$as initdb -D data -A trust -U postgres >initdb.log
exec $as "$(command -v postgres)" -D data -p "$PORT" -k "$PWD/data" -c listen_addresses=127.0.0.1
