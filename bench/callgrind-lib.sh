# What the scripts that count instructions share; sourced by each, from the top of the tree.

build=build/release

# build_release TARGET... - as it is installed; the set-up included
build_release()
{
	local log=build/logs/release/bench.log
	tests/setup.sh
	mkdir -p "${log%/*}"
	{ cmake --preset release && cmake --build "$build" --target "$@"; } >"$log" 2>&1 ||
		{ tail -n 60 "$log"; exit 1; }
}

counts=$(mktemp -d)
trap 'rm -rf "$counts"' EXIT

# count NAME "PROGRAM [ARG...]" [OPTION...] - run it on the software device under callgrind, which counts where the
# program says so; leaves its dumps in $counts/NAME.*
count()
{
	local name=$1 program=$2
	shift 2
	env ADDR=127.0.0.1 SOFTVERBS_NET="bench.$$" "$build/tests/softverbs/softverbs-run" \
		valgrind --tool=callgrind --quiet --instr-atstart=no --compress-strings=no \
		--compress-pos=no --callgrind-out-file="$counts/$name" "$@" $build/bench/$program
}
