#!/bin/bash
# Whatever is wrong is told in one line, with its exit status, and soon. One row a mistake: the status, a
# word that the line must have, and the arguments.
# LIMIT=300
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

once_in_guests

start_serve --memory 1M --listen "$ADDR:7315"
# a listener that is no rpma serve: rping is Debian's
$under rping -s -a "$ADDR" -p 7316 >"$TMP/rping" 2>&1 &
lib_started+=("$!")
mkdir "$TMP/directory" "$TMP/read-only"
mount -t tmpfs -o ro none "$TMP/read-only"
echo nothing >"$TMP/file"
: >"$TMP/empty"
mkfifo "$TMP/fifo"

expect 1 'no command'
expect 1 'needs HOST:PORT' pull
expect 1 'unrecognized option' pull --nonsense "$ADDR:7315" "$TMP/x"
expect 1 'port 0' pull "$ADDR:0" "$TMP/x"
expect 1 'does not name a file' pull "$ADDR:7315" ''
expect 1 'does not name a file' pull "$ADDR:7315" "$TMP/"
expect 1 'not a size' pull --chunk many "$ADDR:7315" "$TMP/x"
expect 1 'not from 4096' pull --chunk 2G "$ADDR:7315" "$TMP/x"
expect 1 'length: 0 is not from 1' pull --length 0 "$ADDR:7315" "$TMP/x"
expect 1 'no command' frobnicate
expect 1 'address|host|port' pull "no-port" "$TMP/x"
expect 1 'chunk|size' pull --chunk 4097 "$ADDR:7315" "$TMP/x"
expect 1 'depth' pull --depth 0 "$ADDR:7315" "$TMP/x"
expect 1 'durability|sometimes' pull --durability sometimes "$ADDR:7315" "$TMP/x"
expect 2 'no-such-host.invalid' pull no-such-host.invalid:7204 "$TMP/x"
expect 2 'refused' pull "$ADDR:7399" "$TMP/x"
expect 2 '10.9.9.99' pull 10.9.9.99:7204 "$TMP/x"
expect 3 'not .*rpma|refused|turned' pull "$ADDR:7316" "$TMP/x"
expect 3 'region|range|bytes' pull --length 2M "$ADDR:7315" "$TMP/x"
expect 3 'region|range|bytes' pull --offset 2M "$ADDR:7315" "$TMP/x"
expect 4 'directory' pull "$ADDR:7315" "$TMP/no/such/directory"
expect 4 'directory' pull "$ADDR:7315" "$TMP/directory"
expect 4 'not a directory' pull "$ADDR:7315" "$TMP/file/x"
expect 4 'read-only' pull "$ADDR:7315" "$TMP/read-only/x"
expect 1 'unrecognized option' serve --nonsense
expect 1 "what is 'more'" serve --memory 1M --listen "$ADDR:7317" more
expect 1 'either --file or --memory' serve --listen "$ADDR:7317"
expect 1 'either --file or --memory' serve --listen "$ADDR:7317" --memory 1M --file "$TMP/file"
expect 1 'needs --listen' serve --memory 1M
expect 1 'listen no-port: the port is missing' serve --memory 1M --listen no-port
expect 1 'a region has no place' serve --memory 1M --listen "$ADDR:7317/disk"
for size in 0 much 9E 16383P 8388608T; do
	expect 1 "memory: '$size' is not a size" serve --memory "$size" --listen "$ADDR:7317"
done
expect 1 "pattern: 'plaid' is not a number" serve --memory 1M --pattern plaid --listen "$ADDR:7317"
for clients in 0 65537 some; do
	expect 1 "max-clients: '$clients' is not from 1 to 65536" \
		serve --memory 1M --max-clients "$clients" --listen "$ADDR:7317"
done
expect 4 'fifo is not a regular file' serve --file "$TMP/fifo" --listen "$ADDR:7317"
expect 4 'empty is empty' serve --file "$TMP/empty" --listen "$ADDR:7317"
expect 4 'missing\?\?name' serve --file "$TMP/missing"$'\n\x7f'name --listen "$ADDR:7317"
expect 7 'cannot get [0-9]+ bytes of memory: not enough memory' serve --memory 1048576T --listen "$ADDR:7317"
expect 2 'no-such-host.invalid' serve --memory 1M --listen no-such-host.invalid:7317
expect 4 'no such file' serve --file "$TMP/missing" --listen "$ADDR:7317"
expect 4 'directory|regular' serve --file "$TMP/directory" --listen "$ADDR:7317"
expect 2 'in use' serve --memory 1M --listen "$ADDR:7315"
expect 2 '10.9.9.99|not avail|cannot assign|device' serve --memory 1M --listen 10.9.9.99:7317
expect 2 'no RDMA device.*0.0.0.0' serve --memory 1M --listen 0.0.0.0:7317
expect 2 'no RDMA device.*localhost|numeric' serve --memory 1M --listen localhost:7317

umount "$TMP/read-only"
(( unexpected == 0 )) || fail "see above"
# help is no mistake, and tells the statuses
for words in --help -h 'pull --help' 'pull -h' 'serve --help' 'serve -h'; do
	# shellcheck disable=SC2086
	expect 0 '' $words
	for status in 0 1 2 3 4 5 6 7 130; do
		grep -qE "^  $status +[a-z]" "$TMP/out" || fail "rpma $words does not tell of status $status"
	done
done
(( unexpected == 0 )) || fail "see above"
# and the server is as good as before
"$rpma" pull --verify --quiet "$ADDR:7315" "$NVME/after"
stop_serve
