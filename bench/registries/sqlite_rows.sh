# sqlite3 makes each row safe on the disk, unless many are one transaction.
set -eu
rm -f rows.db
{
	echo 'create table t(a, b);'
	[ "$1" = before ] || echo 'begin;'
	seq 300 | sed "s/.*/insert into t values(&, 'row &');/"
	[ "$1" = before ] || echo 'commit;'
} | sqlite3 rows.db
