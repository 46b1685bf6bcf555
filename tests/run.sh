#!/bin/bash
# Builds everything and passes the tests; does all its own set-up on a fresh machine.
#
#   tests/run.sh              unit tests, then the live tests, on the software device and in virtual
#                             machines; coverage, of which there must be enough (tests/coverage.py)
#   tests/run.sh --quick      without virtual machines
#   tests/run.sh --sanitize   the same with the address and undefined behaviour sanitizers
#   tests/run.sh --preset P   with another preset: debug, release, asan, tsan, coverage
#   tests/run.sh --live NAME  only the live test NAME (repeatable)
#   tests/run.sh --native     nothing but this: the unit tests as built on Debian 13, and native flush and
#                             atomic write, which its rdma-core and a kernel 6.12 have; needs root
#
# Ends with a line "N passed, N failed, N skipped"; exits 0 when none failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset=coverage
quick=
native=
live=()
while (( $# > 0 )); do
	case $1 in
	--quick) quick=1 ;;
	--native) native=1 preset=debug ;;
	--sanitize) preset=asan ;;
	--preset) preset=$2; shift ;;
	--live) live+=("$2"); shift ;;
	*)
		sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0" >&2
		exit 2
		;;
	esac
	shift
done

passed=0 failed=0 skipped=0

# count PASSED FAILED SKIPPED
count()
{
	passed=$(( passed + $1 ))
	failed=$(( failed + $2 ))
	skipped=$(( skipped + $3 ))
}

build()
{
	tests/setup.sh
	cmake --preset "$preset" -DRPMA_WERROR=ON >"$logs/configure.log" 2>&1 ||
		{ cat "$logs/configure.log"; exit 1; }
	cmake --build --preset "$preset" >"$logs/build.log" 2>&1 || { tail -n 60 "$logs/build.log"; exit 1; }
	tail -n 1 "$logs/build.log"
	# counts of earlier runs, and of sources that are built no more
	# counters of earlier runs, and what is known about sources that are built no more, or elsewhere
	find "build/$preset" -name '*.gcda' -delete
	ninja -C "build/$preset" -t cleandead >/dev/null
	local notes
	while read -r notes; do
		[[ -e ${notes%.gcno}.o ]] || rm "$notes"
	done < <(find "build/$preset" -name '*.gcno')
	ninja -C "build/$preset" -t cleandead >>"$logs/build.log"
	find "build/$preset" -name '*.gcno' | while read -r notes; do
		[[ -e ${notes%.gcno}.o ]] || rm "$notes"
	done
}

# unit BUILD [RUNNER...] - the unit tests; every program is a process of its own with a time limit
unit()
{
	local junit=$PWD/$logs/unit.xml
	"${@:2}" ctest --test-dir "$1" --output-on-failure --no-tests=error -j "$(nproc)" \
		--output-junit "$junit" || true
	eval "$(python3 - "$junit" <<'PY'
import sys, xml.etree.ElementTree as tree
suite = tree.parse(sys.argv[1]).getroot()
n = {k: int(suite.get(k)) for k in ("tests", "failures", "skipped", "disabled")}
print("count", n["tests"] - n["failures"] - n["skipped"] - n["disabled"], n["failures"],
      n["skipped"] + n["disabled"])
PY
	)"
}

# account NAME - the counts of a run of live tests, which leaves a line "live: P passed, F failed, S skipped"
account()
{
	local line
	line=$(grep -aoE '^live: [0-9]+ passed, [0-9]+ failed, [0-9]+ skipped' "$logs/$1.log" | tail -n 1) || true
	if [[ $line =~ ^live:\ ([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+) ]]; then
		count "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" "${BASH_REMATCH[3]}"
	else
		echo "tests: $1: did not come to its end"
		count 0 1 0
	fi
}

run_live()
{
	local name=$1
	shift
	"$@" 2>&1 | tee "$logs/$name.log" || true
	account "$name"
}

# the live tests on this machine, on the device of tests/softverbs
softverbs_tests()
{
	local build=$PWD/build/$preset place
	place=$(mktemp -d "$build/live.XXXXXX")
	env SOFTVERBS_NET="live$$" LIVE_UNDER="$build/tests/softverbs/softverbs-run" ADDR=127.0.0.1 NVME="$place" \
		tests/live/run.sh "$build" ${live[0]+"${live[@]}"} >"$logs/softverbs.log" 2>&1 || true
	rm -rf "$place"
}

# the same on real rdma-core and kernel Soft-RoCE, in one guest, and more in two
vm_tests()
{
	local gcda=()
	if [[ $preset == coverage ]]; then
		gcda=(--gcda)
	fi
	run_live live tests/vm/run.sh --timeout 1500 "${gcda[@]}" --disk 1G --disk 48M -- \
		tests/live/run.sh "build/$preset" ${live[0]+"${live[@]}"}
	if (( ${#live[@]} == 0 )); then
		run_live pair tests/live/pair/run.sh "build/$preset" "${gcda[@]}"
	fi
}

# inside COMMAND... - in the Debian 13; its words are for the log
inside()
{
	tests/native/inside.sh "$folder" "$@" >>"$logs/build.log" 2>&1 || { tail -n 60 "$logs/build.log"; exit 1; }
}

# the project on Debian 13: its build and its unit tests there, and its programs on native operations in a guest,
# with peers that have none and with peers of the other implementation
native_tests()
{
	local folder
	export RPMA_VM_KERNEL=${RPMA_VM_KERNEL:-linux-image-amd64/bookworm-backports}
	tests/setup.sh
	tests/vm/kernel.sh >/dev/null &
	folder=$(tests/native/folder.sh)
	: >"$logs/build.log"
	inside cmake -S . -B build/native -G Ninja -DCMAKE_BUILD_TYPE=Debug -DRPMA_WERROR=ON
	inside cmake --build build/native
	cmake --preset debug >>"$logs/build.log" 2>&1
	cmake --build --preset debug --target live_commit >>"$logs/build.log" 2>&1 ||
		{ tail -n 60 "$logs/build.log"; exit 1; }
	unit build/native tests/native/inside.sh "$folder"
	wait
	run_live native tests/vm/run.sh --timeout 300 --pmem 64M --env "FOLDER=$folder" \
		--env "NATIVE=$PWD/build/native" -- tests/native/live.sh build/debug
}

# what the tests have executed, and whether it is enough; of some tests only: what they have
coverage()
{
	local report=(${live[0]+--report})
	if ! {
		gcovr --config .gcovr.cfg --object-directory "build/$preset" --json "$logs/coverage.json" \
			--json-summary "$logs/coverage-summary.json" --txt "$logs/coverage-lines.txt" &&
			gcovr --config .gcovr.cfg --add-tracefile "$logs/coverage.json" --branches --txt "$logs/coverage-branches.txt"
	} 2>"$logs/coverage.err"; then
		cat "$logs/coverage.err"
		return 1
	fi
	tests/coverage.py "${report[@]}" "$logs/coverage-summary.json" && return
	echo "coverage: what is not covered is in $logs/coverage-lines.txt and $logs/coverage-branches.txt"
	return 1
}

# ends with the status
report()
{
	echo "$passed passed, $failed failed, $skipped skipped"
	(( failed == 0 && passed > 0 ))
	exit
}

logs=build/logs/${native:+native-}$preset
mkdir -p "$logs"
if [[ -n $native ]]; then
	native_tests
	report
fi
build
# side by side where time is short, since the live tests wait more than they work
softverbs_tests &
[[ -n $quick ]] || wait
if (( ${#live[@]} == 0 )); then
	unit "build/$preset"
fi
wait
cat "$logs/softverbs.log"
account softverbs
if [[ -z $quick ]]; then
	vm_tests
fi
if [[ $preset == coverage ]]; then
	coverage || count 0 1 0
fi
report
