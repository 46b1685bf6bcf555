#!/bin/bash
# The device keeps what the manual pages of verbs and the connection manager say: the same checks, with the
# same result, on the kernel's software device and on tests/softverbs.
# LIMIT=600
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

once_in_guests
if [[ -z $under ]]; then
	ip -6 addr add fd09::1/64 dev v0 nodad
	ADDR6=fd09::1
else
	ADDR6=::1
fi
export ADDR6
# a check that has its answer leaves what it made to the end of its process
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
$under "$BUILD/tests/softverbs/conformance/conformance" >"$TMP/checks" || {
	grep -a '^not ok' "$TMP/checks"
	tail -n 3 "$TMP/checks"
	fail "see above"
}
echo "figure: $(tail -n 1 "$TMP/checks")"
