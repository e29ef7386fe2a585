# PostgreSQL's programs are not on the path, and it does not run as root.
PATH=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -1):$PATH

as_postgres() {
	[ "$1" != exec ] || shift
	if [ "$(id -u)" = 0 ]; then
		chown postgres . 2>/dev/null || true
		exec_as="setpriv --reuid=postgres --regid=postgres --clear-groups"
	fi
	${exec_as:-} "$@"
}
