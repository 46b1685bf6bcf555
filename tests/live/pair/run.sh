#!/bin/bash
# Runs the tests of two machines, each in two guests with a wire between them.
#
#   tests/live/pair/run.sh BUILD [OPTION of tests/vm/pair.sh...]
#
# A test is a directory-mate NAME.sh that is called `NAME.sh server` in one guest and `NAME.sh client` in
# the other, both with the environment of tests/vm/pair.sh, BUILD and TMP; the client's status counts. On
# this machine `NAME.sh before` prints further options, one a line, and `NAME.sh after` looks at what the
# guests have left; both have an empty directory TMP.
# Ends with "live: N passed, N failed, N skipped".
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export BUILD=$(cd "$1" && pwd)
shift
passed=0 failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# run_test SCRIPT [OPTION...] - sets $status
run_test()
{
	local test=$1 tmp options=()
	shift
	tmp=$(mktemp -d "${TMPDIR:-/tmp}/rpma-pair.XXXXXX")
	status=0
	TMP=$tmp "$test" before >"$log" 2>&1 || status=$?
	if (( status == 0 )); then
		mapfile -t options <"$log"
		"$here/../../vm/pair.sh" --timeout 240 --client-disk 1G --env "BUILD=$BUILD" "$@" \
			${options[0]+"${options[@]}"} --server "$test server" --client "$test client" \
			>"$log" 2>&1 || status=$?
	fi
	if (( status == 0 )); then
		TMP=$tmp "$test" after >>"$log" 2>&1 || status=$?
	fi
	rm -rf "$tmp"
}

for test in "$here"/*.sh; do
	name=$(basename "$test" .sh)
	[[ $name != run ]] || continue
	start=$SECONDS
	run_test "$test" "$@"
	if (( status == 0 )); then
		passed=$(( passed + 1 ))
		echo "live: ok   pair/$name ($(( SECONDS - start )) s)"
		grep -a '^vm: ' "$log"
		grep -a '^figure: ' "$log" | sed "s|^|live:      pair/$name: |" || true
	else
		failed=$(( failed + 1 ))
		echo "live: FAIL pair/$name (status $status, $(( SECONDS - start )) s)"
		sed 's/^/    /' "$log" | tail -n 60
	fi
done
echo "live: $passed passed, $failed failed, 0 skipped"
(( failed == 0 ))
