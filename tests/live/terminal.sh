#!/bin/bash
# On a terminal pull shows a bar with rate and time left; elsewhere it is quiet.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

start_serve --memory 64M --listen "$ADDR:7318"
script -qec "'$rpma' pull --verify '$ADDR:7318' '$NVME/terminal'" "$TMP/screen" </dev/null >/dev/null
tr '\r' '\n' <"$TMP/screen" | sed 's/\x1b\[[0-9;?]*[A-Za-z]//g' >"$TMP/lines"
grep -qE '[0-9]+ ?%' "$TMP/lines" || { cat "$TMP/lines"; fail "no percentage"; }
grep -qE 'iB/s' "$TMP/lines" || { cat "$TMP/lines"; fail "no rate"; }
grep -qE '[0-9]+:[0-9]{2}|[0-9]+ ?s( |$)|ETA' "$TMP/lines" || { cat "$TMP/lines"; fail "no time left"; }
grep -q verified "$TMP/lines" || { cat "$TMP/lines"; fail "not verified"; }
rm "$NVME/terminal"
stop_serve
