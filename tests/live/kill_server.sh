#!/bin/bash
# The server dies by SIGKILL half way: pull ends by itself, non-zero, with one line of what, where and how
# far the file is good, leaves no process, and the file is right up to there.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

big_file "$TMP/source"

for durability in group none; do
	start_serve --file "$TMP/source" --listen "$ADDR:7312"
	pull_until 15 --durability "$durability" --json "$ADDR:7312" "$NVME/killed"
	kill -9 "$serve_pid"
	status=0
	pull_ended || status=$?
	(( status == 5 )) || fail "status $status, not 5"
	one_line "$TMP/errors"
	grep -qE 'at offset [0-9]+' "$TMP/errors" || fail "the line does not say where"
	watermark=$(python3 -c 'import json,sys; r = json.load(open(sys.argv[1])); print(r["watermark"])' "$TMP/report")
	grep -q "$watermark bytes" "$TMP/errors" || fail "the line does not say how far ($watermark)"
	(( watermark > 0 && watermark < big )) || fail "watermark $watermark"
	[[ ! -e $NVME/killed ]] || fail "a half file has the name of a whole one"
	cmp -n "$watermark" "$TMP/source" "$NVME/killed.part" || fail "wrong bytes below the watermark"
	rm "$NVME/killed.part"
	wait "$serve_pid" || true
	echo "figure: $durability: killed at $pull_at %, good up to $(( watermark >> 20 )) MiB"
done
