#!/bin/bash
# SIGINT in the middle: pull stops, tells how far the file is good, exits 130, and that far it is right.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

big_file "$TMP/source"
start_serve --file "$TMP/source" --listen "$ADDR:7320"
pull_until 15 --json "$ADDR:7320" "$NVME/interrupted"
pkill -INT -P "$pull_script" -x rpma
status=0
pull_ended || status=$?
(( status == 130 )) || fail "status $status, not 130"
one_line "$TMP/errors"
watermark=$(python3 -c 'import json,sys; r = json.load(open(sys.argv[1])); print(r["watermark"])' "$TMP/report")
grep -q "$watermark bytes" "$TMP/errors" || fail "the line does not say how far ($watermark)"
(( watermark > 0 && watermark < big )) || fail "watermark $watermark"
cmp -n "$watermark" "$TMP/source" "$NVME/interrupted.part" || fail "wrong bytes below the watermark"
rm "$NVME/interrupted.part"
stop_serve
echo "figure: interrupted at $pull_at %, good up to $(( watermark >> 20 )) MiB"
