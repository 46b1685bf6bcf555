#!/bin/bash
# One program, built with the original's header and linked with the original: what it checks is so on the
# original and on our library, save for what is better in ours on purpose.
# LIMIT=300
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

once_in_guests

if [[ ! -e $BUILD/tests/compat/libraries ]]; then
	echo "no librpma-dev is installed"
	exit 77
fi
for library in original ours; do
	# shellcheck disable=SC2086
	"$(dirname "${BASH_SOURCE[0]}")/../compat/drop_in.sh" "$BUILD/tests/compat" $library $under >"$TMP/$library" || {
		grep -a -A8 '^not ok' "$TMP/$library" || cat "$TMP/$library"
		tail -n 1 "$TMP/$library"
		fail "on $library: see above"
	}
	echo "figure: $library: $(tail -n 1 "$TMP/$library"), $(grep -ac ', improved: ' "$TMP/$library") improvements seen"
done
