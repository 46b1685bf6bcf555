#!/bin/bash
# The demo itself: serve a file of random bytes in memory, pull it, look at what arrived.
#
#   ADDR=ADDRESS bench/demo-run.sh BYTES DIRECTORY RPMA...
#
# RPMA is the program, under whatever brings the device.
set -euo pipefail
bytes=$1 directory=$2
shift 2
rpma=("$@")

memory=$(mktemp -d /dev/shm/rpma-demo.XXXXXX)
copy=$(mktemp -d "$directory/rpma-demo.XXXXXX")
serve=
cleanup()
{
	if [[ -n $serve ]]; then
		kill "$serve" 2>/dev/null || true
		wait "$serve" 2>/dev/null || true
	fi
	rm -rf "$memory" "$copy"
}
trap cleanup EXIT

head -c "$bytes" /dev/urandom >"$memory/data.img"
mkfifo "$memory/ready"
"${rpma[@]}" serve --file "$memory/data.img" --listen "$ADDR:7204" >"$memory/ready" &
serve=$!
exec {ready}<"$memory/ready"
read -r -t 60 line <&"$ready"
echo "serve: $line"
"${rpma[@]}" pull --verify --json "$ADDR:7204" "$copy/copy.img" >"$memory/report.json"

# not the program's own word for it
source_sha256=$(sha256sum <"$memory/data.img" | cut -d' ' -f1)
copy_sha256=$(sha256sum <"$copy/copy.img" | cut -d' ' -f1)
python3 - "$memory/report.json" "$source_sha256" "$copy_sha256" <<'PY'
import json, sys
report, source, copy = json.load(open(sys.argv[1])), sys.argv[2], sys.argv[3]
mib = 1024 * 1024
print(f"bytes               {report['bytes']}")
print(f"sha256 of source    {source}")
print(f"sha256 of copy      {copy}")
print(f"read rate           {report['read_rate'] / mib:.1f} MiB/s")
print(f"durable rate        {report['durable_rate'] / mib:.1f} MiB/s")
print(f"in flight at peak   {report['peak_reads']} reads, {report['peak_writes']} writes;"
      f" {report['peak_overlap']} reads beside a write")
if not (report["verified"] and source == copy == report["file_sha256"] == report["source_sha256"]):
    sys.exit("demo: the copy is not the source")
print("verified")
PY
