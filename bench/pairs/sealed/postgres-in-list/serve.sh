# The PostgreSQL that $HERE has, in the work folder.
set -eu
PATH=$HERE/server/bin:$PATH
mkdir -p data
as=""
if [ "$(id -u)" = 0 ]; then
	getent passwd postgres >/dev/null || useradd --system --no-create-home postgres
	chown postgres . data
	as="setpriv --reuid=postgres --regid=postgres --clear-groups --inh-caps=+dac_override --ambient-caps=+dac_override"
fi
$as initdb -D data -A trust -U postgres --no-locale >initdb.log
exec $as "$HERE/server/bin/postgres" -D data -p "$PORT" -k "$PWD/data" -c listen_addresses=127.0.0.1 -c jit=off
