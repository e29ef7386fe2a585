# PostgreSQL for a case: its programs are not on the path, and it does not run as root. As another user who may go
# where root may go it finds a case that lies in root's own folder.
PATH=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -1):$PATH

as_postgres() {
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid=postgres --regid=postgres --clear-groups --inh-caps=+dac_override --ambient-caps=+dac_override "$@"
	else
		"$@"
	fi
}

# A new database in ./data, with a table of sales.
prepare() {
	mkdir data
	[ "$(id -u)" != 0 ] || chown postgres data
	as_postgres initdb -D data -A trust -U postgres > initdb.log
}

serve() {
	exec_postgres=$(command -v postgres)
	as_postgres "$exec_postgres" -D data -p "$1" -k "$PWD/data" -c fsync=off
}

ask() {
	psql -h "$PWD/data" -p "$1" -U postgres -qAt -c "$2"
}
SALES='create table if not exists sales as select n as id, n % 97 as customer, n * 31 % 1009 as amount from generate_series(1, 600000) n'
INDEX='create unique index if not exists by_id on sales (id)'
