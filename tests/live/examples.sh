#!/bin/bash
# The programs of the manual work with each other: one offers a text, the other fetches it.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

examples=$BUILD/tests/examples
text="what the manual promises"

$under "$examples/offer" "$ADDR" 7341 "$text" >"$TMP/offer" 2>&1 &
offer=$!
lib_started+=("$offer")
wait_line "$TMP/offer" '^listening on ' "$offer"
$under "$examples/fetch" "$ADDR" 7341 >"$TMP/fetch" 2>&1 || { cat "$TMP/fetch"; fail "fetch: status $?"; }
[[ $(<"$TMP/fetch") == "$text" ]] || { cat "$TMP/fetch"; fail "not the text"; }
wait "$offer" || { cat "$TMP/offer"; fail "offer: status $?"; }

# and a peer that is not there is told in one line
if $under "$examples/fetch" "$ADDR" 7341 >"$TMP/out" 2>"$TMP/fetch"; then
	fail "nobody listens, and fetch succeeded"
fi
one_line "$TMP/fetch"

# the others talk to one server, all their lives long
port=7342
start_server()
{
	$under "$examples/server" "$ADDR" "$port" >"$TMP/server" 2>&1 &
	server=$!
	lib_started+=("$server")
	wait_line "$TMP/server" '^listening on ' "$server"
}
start_server

# shows NAME EXPECTED ARG... - the program succeeds and prints just that
shows()
{
	local name=$1 expected=$2
	shift 2
	$under "$examples/$name" "$ADDR" "$port" "$@" >"$TMP/$name" 2>&1 ||
		{ cat "$TMP/$name"; fail "$name: status $?"; }
	[[ $(<"$TMP/$name") == "$expected" ]] || { cat "$TMP/$name"; fail "$name printed something else"; }
}

shows client $'echo: hello\nread: what the server offers' hello
shows save '65536 bytes, durable' "$NVME/saved"
[[ $(head -c 22 "$NVME/saved") == "what the server offers" ]] || fail "save: wrong bytes"
(( $(stat -c %s "$NVME/saved") == 65536 )) || fail "save: wrong length"
rm "$NVME/saved"
shows race $'in time: 8 of 8 reads\nno message'
shows post '32 results written'
shows mixed 'answer: what the server offers'
$under "$examples/many" "$ADDR" "$port" >"$TMP/many" 2>&1 || { cat "$TMP/many"; fail "many: status $?"; }
grep -qx '256 reads, 0 failed' "$TMP/many" || { cat "$TMP/many"; fail "many: not all reads"; }

stop_server()
{
	kill -TERM "$server"
	wait "$server" || { cat "$TMP/server"; fail "server: status $?"; }
}

# it lives twice
$under "$examples/reconnect" "$ADDR" "$port" 2 >"$TMP/reconnect" 2>&1 &
reconnect=$!
lib_started+=("$reconnect")
wait_line "$TMP/reconnect" '^life 1: what the server offers' "$reconnect"
stop_server
start_server
wait "$reconnect" || { cat "$TMP/reconnect"; fail "reconnect: status $?"; }
grep -qx 'life 2: what the server offers' "$TMP/reconnect" || fail "reconnect: no second life"
stop_server
