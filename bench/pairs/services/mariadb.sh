# MariaDB in the work folder on $PORT, without passwords.
set -eu
as=""
[ "$(id -u)" != 0 ] || as="--user=root"
mariadb-install-db $as --auth-root-authentication-method=normal --datadir="$PWD/data" --skip-test-db >install.log 2>&1
exec mariadbd --no-defaults $as --datadir="$PWD/data" --socket="$PWD/socket" --pid-file="$PWD/pid" \
	--port="$PORT" --bind-address=127.0.0.1 --skip-grant-tables
