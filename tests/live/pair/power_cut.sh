#!/bin/bash
# The serving machine loses its power half way: pull ends by itself, within the documented time (the dead
# peer's 4 s and the drain's 2 s, many times over for an emulator's sake), with one line, and what lies
# below the watermark is right.
set -euo pipefail
export TMP=${TMPDIR:-/tmp}
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

case $1 in
server)
	start_serve --memory 256M --pattern 7 --listen "$ADDR:7204"
	vm-host post ready
	wait "$serve_pid"
	;;
client)
	vm-host wait ready
	packets=/sys/class/infiniband/rxe0/ports/1/hw_counters/rcvd_pkts
	# the first bytes once more by themselves, to compare with
	"$rpma" pull --verify --quiet --length 8M "$PEER:7204" "$NVME/head"
	before=$(<"$packets")
	"$rpma" pull --json --durability group "$PEER:7204" "$NVME/cut" >"$TMP/report" 2>"$TMP/errors" &
	pull=$!
	lib_started+=("$pull")
	# more than the first group of 16 MiB has come, in packets of 4096 bytes at most
	while (( $(<"$packets") - before < 6500 )); do
		kill -0 "$pull" || { cat "$TMP/errors"; fail "pull ended early"; }
		read -rt 0.02 <> <(:) || true
	done
	vm-host kill-server
	cut=$SECONDS
	status=0
	wait "$pull" || status=$?
	took=$(( SECONDS - cut ))
	cat "$TMP/errors"
	(( status == 5 )) || fail "status $status, not 5"
	one_line "$TMP/errors"
	(( took <= 60 )) || fail "it took $took s to notice"
	watermark=$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["watermark"])' "$TMP/report")
	(( watermark >= 8 << 20 )) || fail "watermark $watermark"
	cmp -n $(( 8 << 20 )) "$NVME/head" "$NVME/cut.part" || fail "wrong bytes"
	echo "figure: power cut noticed after $took s, good up to $(( watermark >> 20 )) MiB"
	;;
esac
