# A ssh server in the work folder on $PORT, which lets the key of $DATA in.
set -eu
[ "$(id -u)" != 0 ] || mkdir -p /run/sshd
ssh-keygen -q -t ed25519 -N '' -f host_key
cp "$DATA/key.pub" authorized_keys
exec /usr/sbin/sshd -D -e -f /dev/null -h "$PWD/host_key" -o ListenAddress=127.0.0.1 -o Port="$PORT" -o PidFile=none \
	-o StrictModes=no -o UsePAM=no -o MaxStartups=100 -o AuthorizedKeysFile="$PWD/authorized_keys"
