#!/bin/bash
# On a terminal pull shows a bar with rate and time left; elsewhere it is quiet (pull_verified.sh).
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

start_serve --memory 24M --listen "$ADDR:7318"
pull_until 30 --verify "$ADDR:7318" "$NVME/terminal"
pull_ended || fail "pull failed"
tr '\r' '\n' <"$TMP/screen" | sed 's/\x1b\[[0-9;?]*[A-Za-z]//g' >"$TMP/lines"
grep -qE 'iB/s' "$TMP/lines" || { cat "$TMP/lines"; fail "no rate"; }
grep -qE '[0-9]+:[0-9]{2}|[0-9]+ ?s( |$)|ETA' "$TMP/lines" || { cat "$TMP/lines"; fail "no time left"; }
grep -q verified "$TMP/report" || { cat "$TMP/report"; fail "not verified"; }
rm "$NVME/terminal"
stop_serve
