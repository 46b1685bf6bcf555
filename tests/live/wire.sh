#!/bin/bash
# Whatever travels between two processes is understood by our library and by the original, in all four
# pairs: private data, descriptors, reads, writes, immediate data, flushes, atomic writes, messages, a
# shared receive queue, the end.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

if [[ ! -e $BUILD/tests/compat/libraries ]]; then
	echo "no librpma-dev is installed"
	exit 77
fi
. "$BUILD/tests/compat/libraries"
conns=5
port=7350

# on_library WHICH PROGRAM - with that library; what the original leaves behind is not looked for
on_library()
{
	local leaks=
	if [[ $1 == original ]]; then
		leaks=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
	fi
	# shellcheck disable=SC2086
	exec env LD_LIBRARY_PATH="${!1%/*}" RPMA_COMPAT_OURS="$ours" ${leaks:+ASAN_OPTIONS="$leaks"} \
		$under "$BUILD/tests/compat/$2" $port $conns
}

# said FILE WHICH ROLE - the program ran on that library to its end
said()
{
	grep -qaF "$3: ${!2}: $conns connections, " "$1" || { cat "$1"; fail "$3 was not on $2"; }
	echo "figure: $3 on $2: $(sed -n "s/^$3: [^ ]*: //p" "$1")"
}

for server in original ours; do
	for client in original ours; do
		port=$(( port + 1 ))
		on_library $server wire_server >"$TMP/server" 2>&1 &
		pid=$!
		lib_started+=("$pid")
		wait_line "$TMP/server" '^listening' "$pid"
		on_library $client wire_client >"$TMP/client" 2>&1 &
		client_pid=$!
		lib_started+=("$client_pid")
		# one that fails leaves the other one waiting
		first=$client_pid
		while kill -0 "$client_pid" 2>/dev/null; do
			kill -0 "$pid" 2>/dev/null || { first=$pid; break; }
			read -rt 0.05 <> <(:) || true
		done
		for ended in "$first" "$client_pid" "$pid"; do
			wait "$ended" || {
				cat "$TMP/client" "$TMP/server"
				fail "$client client, $server server"
			}
		done
		echo "figure: $client client, $server server"
		said "$TMP/client" $client client
		said "$TMP/server" $server server
		# this device takes all memory for persistent
		grep -qaxF "client: flushed for persistence" "$TMP/client" || fail "no flush for persistence"
	done
done
