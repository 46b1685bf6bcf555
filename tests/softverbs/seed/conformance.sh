#!/bin/sh
# conformance.sh RUN PROGRAM - the device obeys its rules in a simulated world as well
#
# What takes another process, or another thread while a call waits, cannot come out right there: those
# checks may fail, all others may not.
set -eu

impossible='process: | waits (for|until) .*'
impossible="$impossible|a connect request counts as an event of the listener"
impossible="$impossible|endpoints connect, send and disconnect synchronously"
export ADDR=127.0.0.1 SOFTVERBS_WIRE=seed SOFTVERBS_SEED=1 SOFTVERBS_SEED_GRACE_MS=100
# no events for nothing, and no polls that give less than there is: some checks are about those
export SOFTVERBS_SEED_ODDS=spurious=0,cut=0
# a check leaves its objects to the end of its process
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"

out=$("$1" "$2" 2>/dev/null) || true
passed=$(echo "$out" | grep -c '^ok')
wrong=$(echo "$out" | grep '^not ok' | grep -vE "$impossible" || true)
if [ -n "$wrong" ] || [ "$passed" -lt 300 ]; then
	echo "$out"
	exit 1
fi
echo "$passed checks passed"
