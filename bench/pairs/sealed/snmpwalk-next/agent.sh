# snmpd on port 18576, and on the port given a device one millisecond away: what comes there is passed on.
SNMP_PERSISTENT_DIR=. /usr/sbin/snmpd -f -Lo -C -c "$PAIR/snmpd.conf" -p snmpd.pid &
exec python3 "$PAIR/away.py" "$1" 18576
