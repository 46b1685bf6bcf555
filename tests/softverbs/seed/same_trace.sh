#!/bin/sh
# same_trace.sh RUN PROGRAM - the same seed gives the same trace, byte for byte; another one does not
#
# Also: a world that is the third of its process gives the trace of the only one of a process; a trace
# can go to a descriptor; and it says nothing of the process.
set -eu

run=$1
program=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export SOFTVERBS_WIRE=seed

fail()
{
	echo "same_trace: $*" >&2
	exit 1
}

for seed in 1 2 3 18446744073709551615; do
	for i in a b; do
		SOFTVERBS_SEED=$seed SOFTVERBS_TRACE=$dir/$seed.$i "$run" "$program"
	done
	cmp "$dir/$seed.a" "$dir/$seed.b" || fail "seed $seed: two runs differ"
done
cmp -s "$dir/1.a" "$dir/2.a" && fail "seeds 1 and 2 do the same"

# the worlds 1, 2, 3 in one process; what comes before and after is that of seed 0
SOFTVERBS_TRACE=$dir/many "$run" "$program" 1 3
sed -n '/the world of seed 3$/,/the world of seed 0$/p' "$dir/many" | sed '$d' >"$dir/third"
cmp "$dir/3.a" "$dir/third" || fail "a world depends on the one before"

SOFTVERBS_SEED=2 SOFTVERBS_TRACE=7 "$run" "$program" 7>"$dir/fd"
cmp "$dir/2.a" "$dir/fd" || fail "a trace to a descriptor is another one"

grep -q 'moves .* bytes of READ_RESPONSE' "$dir/1.a" || fail "nothing was read"
grep -q '0x' "$dir/1.a" && fail "there are addresses in it"
echo "$(wc -l <"$dir/1.a") lines, the same twice"
