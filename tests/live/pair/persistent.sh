#!/bin/bash
# What was stored in remote persistent memory and flushed is there when the serving machine loses its power
# the moment that the client knows: the host finds it in the memory's file, at its place.
set -euo pipefail
export TMP=${TMP:-${TMPDIR:-/tmp}}
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

# where the data of commit.c and its mark are
offset=4096
mark=COMMITED

case $1 in
before)
	truncate -s 64M "$TMP/pmem"
	random_file "$TMP/data" 3
	printf '%s\n' --server-pmem "$TMP/pmem" --env "DATA=$TMP/data"
	;;
server)
	"$live/helpers/commit" serve 7205 "$PMEM" persistent >"$TMP/log" 2>&1 &
	serve_pid=$!
	lib_started+=("$serve_pid")
	wait_line "$TMP/log" '^listening' "$serve_pid"
	vm-host post ready
	wait "$serve_pid" || { cat "$TMP/log"; exit 1; }
	;;
client)
	vm-host wait ready
	SERVER=$PEER "$live/helpers/commit" store 7205 "$DATA" persistent "vm-host kill-server"
	;;
after)
	# what the kernel writes into the second page tells where the device begins
	base=$(python3 - "$TMP/pmem" <<-'PY'
		import struct, sys
		with open(sys.argv[1], "rb") as f:
		    f.seek(4096)
		    block = f.read(4096)
		assert block[:16] == b"NVDIMM_DAX_INFO\0", block[:16]
		print(struct.unpack_from("<Q", block, 56)[0])
	PY
	)
	size=$(stat -c %s "$TMP/data")
	cmp -n "$size" -i "0:$(( base + offset ))" "$TMP/data" "$TMP/pmem" || fail "lost what was flushed"
	[[ $(tail -c "+$(( base + 1 ))" "$TMP/pmem" | head -c ${#mark} | tr '\0' .) == "$mark" ]] ||
		fail "lost the mark"
	echo "figure: $(( size >> 20 )) MiB are there after a power cut, and the mark"
	;;
esac
