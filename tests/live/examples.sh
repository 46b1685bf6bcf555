#!/bin/bash
# The programs of the manual work with each other: one offers a text, the other fetches it.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

examples=$BUILD/tests/examples
text="what the manual promises"

$under "$examples/offer" "$ADDR" 7341 "$text" >"$TMP/offer" 2>&1 &
offer=$!
lib_started+=("$offer")
wait_line "$TMP/offer" '^listening on ' "$offer"
$under "$examples/fetch" "$ADDR" 7341 >"$TMP/fetch" 2>&1 || { cat "$TMP/fetch"; fail "fetch: status $?"; }
[[ $(<"$TMP/fetch") == "$text" ]] || { cat "$TMP/fetch"; fail "not the text"; }
wait "$offer" || { cat "$TMP/offer"; fail "offer: status $?"; }

# and a peer that is not there is told in one line
if $under "$examples/fetch" "$ADDR" 7341 >"$TMP/out" 2>"$TMP/fetch"; then
	fail "nobody listens, and fetch succeeded"
fi
one_line "$TMP/fetch"
