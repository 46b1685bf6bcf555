#!/bin/bash
# drop_in.sh BUILD WHICH [RUNNER] - the checks, on the library WHICH: original or ours
#
# BUILD is where the program has been built. RUNNER brings it a device; without one, the machine has its
# own, whose address is in ADDR.
set -euo pipefail

build=$1 which=$2 runner=${3-}
. "$build/libraries"
output=$(mktemp)
trap 'rm -f "$output"' EXIT

export RPMA_COMPAT_OURS=$ours LD_LIBRARY_PATH=${!which%/*}
if [[ -n $runner ]]; then
	export ADDR=127.0.0.1 SOFTVERBS_NET=compat.$$ SOFTVERBS_TIMEWAIT_MS=20
fi
# what the original leaves behind is not looked for
if [[ $which == original ]]; then
	export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
fi

status=0
$runner "$build/drop_in" 2>&1 | tee "$output" || status=$?
# that it is the library that was meant, the program says by itself
case $which in
ours) said="ours: $ours" ;;
*) said="another: $original" ;;
esac
if ! grep -qxF "#   $said" "$output"; then
	echo "drop_in.sh: the program does not say: $said"
	exit 1
fi
exit "$status"
