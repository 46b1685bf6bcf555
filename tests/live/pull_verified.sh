#!/bin/bash
# A region becomes a file: byte for byte, verified, with reads and writes in flight at once, on both
# ways of durability that differ in kind, and at sizes that are no multiple of anything.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

random_file "$TMP/source" 64
start_serve --file "$TMP/source" --listen "$ADDR:7310"

"$rpma" pull --verify --json --depth 16 "$ADDR:7310" "$NVME/copy" >"$TMP/report" 2>"$TMP/errors"
[[ ! -s $TMP/errors ]] || { cat "$TMP/errors"; fail "not quiet without a terminal"; }
cmp "$TMP/source" "$NVME/copy"
[[ ! -e $NVME/copy.part ]] || fail "the .part file is still there"
python3 - "$TMP/report" "$(sha256sum <"$TMP/source" | cut -d' ' -f1)" <<'PY'
import json, sys
r, sha256 = json.load(open(sys.argv[1])), sys.argv[2]
assert r["status"] == 0 or r["status"] == "ok", r
assert r["bytes"] == r["durable"] == r["watermark"] == 64 << 20, r
assert r["verified"] is True and r["source_sha256"] == r["file_sha256"] == sha256, r
assert r["depth"] == 16 and r["chunk"] == 256 << 10, r
assert r["peak_reads"] <= 16, r
# pipelined: at a moment when a write was in flight at least 8 reads were too
assert r["peak_overlap"] >= 8, r
print(f"figure: {r['peak_reads']} reads, {r['peak_writes']} writes at the peak, "
      f"{r['peak_overlap']} reads beside a write")
PY

# the pieces of a file, odd ones too, by every durability
for args in "--durability none" "--durability dsync" "--durability final --chunk 64K" \
	"--durability group --depth 3 --chunk 4K"; do
	# shellcheck disable=SC2086
	"$rpma" pull --verify $args --offset 12345 --length 1000001 "$ADDR:7310" "$NVME/piece" >"$TMP/out"
	grep -q verified "$TMP/out" || { cat "$TMP/out"; fail "$args: not verified"; }
	cmp -i 12345:0 -n 1000001 "$TMP/source" "$NVME/piece" || fail "$args: other bytes"
	(( $(stat -c %s "$NVME/piece") == 1000001 )) || fail "$args: other length"
done

# on a file system without direct I/O too
"$rpma" pull --verify --quiet "$ADDR:7310" "/dev/shm/rpma-live-copy"
cmp "$TMP/source" /dev/shm/rpma-live-copy
rm /dev/shm/rpma-live-copy
stop_serve
