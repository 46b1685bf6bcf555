#!/bin/bash
# A client that is served loses its power while it says nothing: the server, which has only receives posted,
# learns of it by its keep-alive, within the documented time (10 s of silence, the dead peer's 4 s, many times
# over for an emulator's sake). The roles are crossed: the machine that can lose its power is the client's.
set -euo pipefail
export TMP=${TMPDIR:-/tmp}
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

case $1 in
server)
	vm-host wait ready
	"$rpma" pull "${slow[@]}" --quiet "$PEER:7204" "$TMP/copy" &
	pull=$!
	lib_started+=("$pull")
	vm-host wait served
	kill -STOP "$pull"
	vm-host post silent
	wait "$pull"
	;;
client)
	start_serve --verbose --memory 256M --listen "$ADDR:7204"
	vm-host post ready
	wait_line "$serve_log" 'pulls 268435456 bytes' "$serve_pid"
	vm-host post served
	vm-host wait silent
	# one sign of life has been answered: the client is there, and its silence alone is no reason to drop it
	read -rt 15 <> <(:) || true
	! grep -a gone "$serve_log" || fail "dropped while it was there"
	vm-host kill-server
	cut=$SECONDS
	wait_line "$serve_log" 'gone: .*timed out' "$serve_pid"
	took=$(( SECONDS - cut ))
	cat "$serve_log"
	stop_serve
	(( took <= 60 )) || fail "it took $took s to notice"
	echo "figure: power cut of a silent client noticed after $took s"
	;;
esac
