#!/bin/bash
# The server dies by SIGKILL half way: pull ends by itself, non-zero, with one line of what, where and how
# far the file is good, leaves no process, and the file is right up to there.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

random_file "$TMP/source" 128
packets=/sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts
[[ -r $packets ]] || { echo "no packet counter of rxe0"; exit 77; }

for durability in group none; do
	start_serve --file "$TMP/source" --listen "$ADDR:7312"
	start=$(<"$packets")
	"$rpma" pull --durability "$durability" --json "$ADDR:7312" "$NVME/killed" >"$TMP/report" 2>"$TMP/errors" &
	pull=$!
	lib_started+=("$pull")
	# half of it has come: 64 MiB in packets of 4096 bytes
	while (( $(<"$packets") - start < 16384 )); do
		kill -0 "$pull" || { cat "$TMP/errors"; fail "pull ended early"; }
		read -rt 0.02 <> <(:) || true
	done
	kill -9 "$serve_pid"
	status=0
	wait "$pull" || status=$?
	cat "$TMP/errors"
	(( status == 5 )) || fail "status $status, not 5"
	one_line "$TMP/errors"
	grep -qE 'at offset [0-9]+' "$TMP/errors" || fail "the line does not say where"
	watermark=$(python3 -c 'import json,sys; r = json.load(open(sys.argv[1])); print(r["watermark"])' "$TMP/report")
	grep -q "$watermark bytes" "$TMP/errors" || fail "the line does not say how far ($watermark)"
	(( watermark > 0 && watermark < 128 << 20 )) || fail "watermark $watermark"
	[[ ! -e $NVME/killed ]] || fail "a half file has the name of a whole one"
	cmp -n "$watermark" "$TMP/source" "$NVME/killed.part" || fail "wrong bytes below the watermark"
	rm "$NVME/killed.part"
	wait "$serve_pid" || true
	echo "figure: $durability: killed half way, good up to $(( watermark >> 20 )) MiB"
done
