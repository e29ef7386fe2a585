# Apache for a case, in the foreground: site.conf is the case's own part of its configuration. It refuses to serve as
# root; as another user who may go where root may go it finds a case that lies in root's own folder.
serve() {
	if [ "$(id -u)" = 0 ]; then
		set -- setpriv --pdeathsig=TERM --reuid=nobody --regid=nogroup --clear-groups \
			--inh-caps=+dac_override --ambient-caps=+dac_override
	fi
	exec "$@" /usr/sbin/apache2 -f "$CASE/../services/apache.conf" -DFOREGROUND
}
