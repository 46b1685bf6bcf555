#!/bin/bash
# What pull and serve say arrives, or that it does not is told: a full device, a reader that is gone. And it is
# what JSON wants, whatever the names.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

if [[ -z $under ]]; then
	echo "it is the same on any device, and fast on the software device"
	exit 77
fi

to=$ADDR:7334
start_serve --memory 1M --listen "$to"

# unheard STATUS REGEX ARGUMENT... - with each kind of output that takes nothing
unheard()
{
	local want=$1 regex=$2 status
	shift 2
	status=0
	"$rpma" "$@" >/dev/full 2>"$TMP/errors" || status=$?
	{ (( status == want )) && one_line "$TMP/errors" && grep -q "$regex" "$TMP/errors"; } ||
		{ cat "$TMP/errors"; fail "rpma $* >/dev/full: status $status"; }
	# a pipe whose reader is gone, before anything is written
	mkfifo "$TMP/pipe"
	exec 8<>"$TMP/pipe" 9>"$TMP/pipe" 8<&-
	status=0
	"$rpma" "$@" >&9 2>"$TMP/errors" || status=$?
	exec 9>&-
	rm "$TMP/pipe"
	{ (( status == want )) && one_line "$TMP/errors" && grep -q "$regex" "$TMP/errors"; } ||
		{ cat "$TMP/errors"; fail "rpma $* to nobody: status $status"; }
}
unheard 4 'cannot write to standard output' --help
unheard 4 'cannot write to standard output' pull --help
unheard 4 'cannot write to standard output' pull "$to" "$NVME/output"
unheard 4 'cannot write to standard output' pull --json "$to" "$NVME/output"
# the file is there all the same, and an earlier failure is not covered up
(( $(stat -c %s "$NVME/output") == 1 << 20 )) || fail "no file"
unheard 3 'exchange: refused' pull --json --offset 1G "$to" "$NVME/output"

# a server that could not say that it listens serves, and owns up to it at its end
"$rpma" serve --memory 1M --listen "$ADDR:7335" >/dev/full 2>"$TMP/errors.serve" &
server=$!
lib_started+=("$server")
until "$rpma" pull --quiet "$ADDR:7335" "$NVME/output" 2>"$TMP/errors"; do
	kill -0 "$server" || { cat "$TMP/errors.serve"; fail "the server has ended"; }
done
kill -TERM "$server"
status=0
wait "$server" || status=$?
(( status == 4 )) && one_line "$TMP/errors.serve" || fail "serve ended with status $status"

# a server whose log nobody reads any more serves on
mkfifo "$TMP/pipe"
exec 8<>"$TMP/pipe"
"$rpma" serve --memory 1M --listen "$ADDR:7335" --verbose >"$TMP/listening" 2>"$TMP/pipe" &
server=$!
lib_started+=("$server")
wait_line "$TMP/listening" '^listening on ' "$server"
exec 8<&-
expect 0 '' pull --quiet "$ADDR:7335" "$NVME/output"
expect 0 '' pull --quiet "$ADDR:7335" "$NVME/output"
kill -TERM "$server"
status=0
wait "$server" || status=$?
(( status == 0 )) || fail "serve ended with status $status"

# each durability is named in the report; an interrupted or failed one says so; a name that is no UTF-8
for durability in dsync final group none; do
	"$rpma" pull --json --durability $durability "$to" "$NVME/output" >"$TMP/report"
	python3 - "$TMP/report" $durability <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
assert r["status"] == "ok" and r["exit"] == 0 and r["durability"] == sys.argv[2], r
assert r["verified"] is False and r["source_sha256"] is None and "error" not in r, r
PY
done
status=0
"$rpma" pull --json --offset 1G "$to" "$NVME/output"$'\xff\xc3\xa4' >"$TMP/report" 2>"$TMP/errors" || status=$?
(( status == 3 )) || fail "status $status, not 3"
python3 - "$TMP/report" <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
assert r["status"] == "failed" and r["exit"] == 3 and r["file"].endswith("/output???"), r
assert r["error"]["stage"] == "exchange" and r["error"]["offset"] is None, r
assert r["error"]["status"] == "EPROTO", r
PY
# a file beside us, without a directory in its name
(cd "$NVME" && "$rpma" pull --quiet "$to" output) || fail "not beside us"
(( $(stat -c %s "$NVME/output") == 1 << 20 )) || fail "no file"
(( unexpected == 0 )) || fail "see above"
rm "$NVME/output"
stop_serve
