#!/bin/bash
# Two machines: one serves, the other pulls into a file on its own disk, verified.
set -euo pipefail
export TMP=${TMPDIR:-/tmp}
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

case $1 in
server)
	start_serve --memory 24M --listen "$ADDR:7204"
	vm-host post ready
	wait "$serve_pid"
	;;
client)
	vm-host wait ready
	"$rpma" pull --verify --json "$PEER:7204" "$NVME/copy" >"$TMP/report"
	python3 - "$TMP/report" <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
assert r["verified"] is True and r["durable"] == 24 << 20, r
print(f"figure: {r['peak_reads']} reads, {r['peak_writes']} writes at the peak, verified")
PY
	;;
esac
