#!/bin/bash
# The other implementation of librpma, Debian 13's 1.3.0, with native operations: the same program on it stores
# into regions of ours, and ours into its.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

"${theirs[@]:0:4}" ldd "$commit" >"$TMP/ldd"
grep -q "librpma.so.0 => $their_library/" "$TMP/ldd" || { cat "$TMP/ldd"; fail "not their library"; }

by "flush FLUSH, mark ATOMIC_WRITE" native theirs memory visible visible
by "flush FLUSH, mark ATOMIC_WRITE" native theirs "$PMEM" persistent persistent
by "flush FLUSH, mark ATOMIC_WRITE" theirs native memory visible visible
by "flush FLUSH, mark ATOMIC_WRITE" theirs native "$PMEM" persistent persistent
by "flush READ, mark WRITE" theirs obeying "$PMEM" persistent persistent
by "flush READ, mark WRITE" theirs plain memory visible visible

# and whatever else travels, both ways, by programs that were built with the original's header
port=7500
compat=$NATIVE/tests/compat
. "$compat/libraries"
# shellcheck disable=SC2154
for pair in "original ours" "ours original"; do
	read -r server client <<<"$pair"
	port=$(( port + 1 ))
	chroot "$FOLDER" env "LD_LIBRARY_PATH=${!server%/*}" "RPMA_COMPAT_OURS=$ours" \
		"RPMA_WIRE_FILE=$PMEM" "$compat/wire_server" "$port" 1 >"$TMP/server" 2>&1 &
	pid=$!
	lib_started+=("$pid")
	wait_line "$TMP/server" '^listening' "$pid"
	chroot "$FOLDER" env "LD_LIBRARY_PATH=${!client%/*}" "RPMA_COMPAT_OURS=$ours" \
		"$compat/wire_client" "$port" 1 >"$TMP/client" 2>&1 || { cat "$TMP/client"; fail "$client client, $server server"; }
	wait "$pid" || { cat "$TMP/server"; fail "$client client, $server server: the server"; }
	grep -qxF "client: flushed for persistence" "$TMP/client" || { cat "$TMP/client"; fail "no flush for persistence"; }
	cat "$TMP/server" "$TMP/client"
done
