# Four workers, four clients of five requests each, one session.
PHP_CLI_SERVER_WORKERS=4 php -S 127.0.0.1:18528 "$PAIR/page.php" 2> server.log &
server=$!
until curl -s -o /dev/null "http://127.0.0.1:18528/?close=1"; do
	sleep 0.05
done
clients=""
for client in 1 2 3 4; do
	curl -s -o /dev/null "http://127.0.0.1:18528/?$1&n=[1-5]" &
	clients="$clients $!"
done
wait $clients
kill $server
wait
