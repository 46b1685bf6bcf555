#!/bin/bash
# Clients come and go, all at once, some of them by SIGKILL and some by SIGINT: the server is unharmed.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

start_serve --memory 64M --listen "$ADDR:7313"
pulls=()
options=("${slow[@]}")
for i in 1 2 3; do
	if (( i == 3 )); then
		options=() # this one is left in peace
	fi
	"$rpma" pull --quiet ${options[0]+"${options[@]}"} "$ADDR:7313" "$NVME/client$i" 2>"$TMP/errors$i" &
	pulls+=("$!")
	lib_started+=("$!")
done
# each has begun when its file is there
for i in 1 2; do
	while [[ ! -e $NVME/client$i.part ]]; do
		kill -0 "${pulls[i - 1]}" || { cat "$TMP/errors$i"; fail "client $i ended early"; }
		read -rt 0.02 <> <(:) || true
	done
done
kill -9 "${pulls[0]}"
kill -INT "${pulls[1]}"
status=0
wait "${pulls[1]}" || status=$?
(( status == 130 )) || { cat "$TMP/errors2"; fail "interrupted, but status $status"; }
one_line "$TMP/errors2"
wait "${pulls[2]}" || { cat "$TMP/errors3"; fail "the third client suffered"; }
wait "${pulls[0]}" 2>/dev/null || true
"$rpma" pull --verify --quiet --length 1M "$ADDR:7313" "$NVME/after"
stop_serve
rm -f "$NVME"/client* "$NVME/after"
