#!/bin/bash
# Runs the live tests, on a machine that has an RDMA device, such as a guest of tests/vm, or with
# LIVE_UNDER naming what brings one to a program: softverbs-run.
#
#   tests/live/run.sh BUILD [NAME...]
#   tests/live/run.sh --scripts DIR BUILD [NAME...]    those of another directory
#
# A test is a script tests/live/NAME.sh beside this one, or a program BUILD/tests/live/NAME or, where the device
# is the kernel's, BUILD/tests/promise/NAME. It gets BUILD (the build's directory), ADDR
# (the device's address), NVME and NVME1 (ext4 file systems, the second a small one) and TMP (an empty
# directory of its own) in its environment, and exits 0 passed, 77 skipped with the reason on its
# last line, anything else failed; a line "# LIMIT=SECONDS" gives it more than the usual time. Ends with "live: N passed, N failed, N skipped".
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
scripts=$here programs=1
if [[ $1 == --scripts ]]; then
	scripts=$(cd "$2" && pwd) programs=''
	shift 2
fi
export BUILD=$(cd "$1" && pwd)
shift
limit=180
passed=0 failed=0 skipped=0

if [[ -n ${LIVE_UNDER-} ]]; then
	echo "live: device softverbs0"
else
	rdma link 2>/dev/null | sed 's/^/live: device /'
fi
names=("$@")
promises=$BUILD/tests/promise
if (( ${#names[@]} == 0 )); then
	for test in ${programs:+"$BUILD"/tests/live/* "$promises"/[0-9]*} "$scripts"/*.sh; do
		# on the software device ctest runs the promises
		[[ $test == "$promises"/* && -n ${LIVE_UNDER-} ]] && continue
		case ${test##*/} in
		run.sh | lib.sh) ;;
		*.sh) names+=("$(basename "$test" .sh)") ;;
		*.*) ;;
		*) [[ -f $test && -x $test ]] && names+=("${test##*/}") ;;
		esac
	done
fi
for name in "${names[@]}"; do
	export TMP=$(mktemp -d "${TMPDIR:-/tmp}/rpma-live.XXXXXX")
	start=$SECONDS
	test=$scripts/$name.sh
	under=
	if [[ ! -x $test ]]; then
		test=$BUILD/tests/live/$name
		[[ -x $test ]] || test=$promises/$name
		under=${LIVE_UNDER-}
	fi
	seconds=$(sed -n 's/^# LIMIT=//p' "$scripts/$name.sh" 2>/dev/null)
	timeout --kill-after=10 "${seconds:-$limit}" $under "$test" >"$TMP/log" 2>&1 </dev/null
	status=$?
	case $status in
	0) passed=$(( passed + 1 )); echo "live: ok   $name ($(( SECONDS - start )) s)" ;;
	77) skipped=$(( skipped + 1 )); echo "live: skip $name: $(tail -n 1 "$TMP/log")" ;;
	*)
		failed=$(( failed + 1 ))
		echo "live: FAIL $name (status $status, $(( SECONDS - start )) s)"
		sed 's/^/    /' "$TMP/log" | tail -n 80
		;;
	esac
	grep -a '^figure: ' "$TMP/log" | sed "s/^/live:      $name: /"
	rm -rf "$TMP"
done
echo "live: $passed passed, $failed failed, $skipped skipped"
(( failed == 0 ))
