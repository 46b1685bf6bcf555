#!/bin/bash
# Whatever is wrong is told in one line, with its exit status, and soon. One row a mistake: the status, a
# word that the line must have, and the arguments.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

start_serve --memory 1M --listen "$ADDR:7315"
# a listener that is no rpma serve: rping is Debian's
$under rping -s -a "$ADDR" -p 7316 >"$TMP/rping" 2>&1 &
lib_started+=("$!")
mkdir "$TMP/directory" "$TMP/read-only"
mount -t tmpfs -o ro none "$TMP/read-only"
echo nothing >"$TMP/file"

expect 1 'needs HOST:PORT' pull
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
expect 4 'no such file' serve --file "$TMP/missing" --listen "$ADDR:7317"
expect 4 'directory|regular' serve --file "$TMP/directory" --listen "$ADDR:7317"
expect 2 'in use' serve --memory 1M --listen "$ADDR:7315"
expect 2 '10.9.9.99|not avail|cannot assign|device' serve --memory 1M --listen 10.9.9.99:7317
expect 2 'no RDMA device.*localhost|numeric' serve --memory 1M --listen localhost:7317

umount "$TMP/read-only"
(( unexpected == 0 )) || fail "see above"
# and the server is as good as before
"$rpma" pull --verify --quiet "$ADDR:7315" "$NVME/after"
stop_serve
