#!/bin/bash
# The reactor's writes, flushes and atomic writes, on native operations: lists with them in it; and told not to.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

chroot "$FOLDER" "$NATIVE/tests/live/persist" || fail "with native operations: status $?"
RPMA_NATIVE=0 chroot "$FOLDER" "$NATIVE/tests/live/persist" || fail "without: status $?"
