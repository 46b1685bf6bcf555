#!/bin/bash
# What is checked of native operations on tests/softverbs is so on the kernel's device as well.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

chroot "$FOLDER" "$NATIVE/tests/softverbs/conformance/conformance" --only native >"$TMP/checks" || {
	cat "$TMP/checks"
	fail "see above"
}
grep -q '^ok' "$TMP/checks" && ! grep -q '# skip' "$TMP/checks" || { cat "$TMP/checks"; fail "nothing was checked"; }
echo "figure: $(tail -n 1 "$TMP/checks")"
