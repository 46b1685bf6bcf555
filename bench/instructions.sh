#!/bin/bash
# How many instructions a call of librpma takes, beside the distribution's librpma.
#
#   bench/instructions.sh
#
# One program is run twice under callgrind, with either library, on a device whose posts and polls do
# nothing. What is counted is everything below the call but the device: exact, and the same each time.
# Does all its own set-up and build (preset release). Exits 1 when a call of the first four takes more
# instructions than the distribution's; 77 when there is none to compare with.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tests/setup.sh
build=build/release
logs=build/logs/release
mkdir -p "$logs"
{ cmake --preset release && cmake --build "$build" --target rpma softverbs bench_instructions; } \
	>"$logs/instructions.log" 2>&1 || { tail -n 60 "$logs/instructions.log"; exit 1; }

theirs=$(ldconfig -p | awk '$1 == "librpma.so.0" && !path { path = $NF } END { print path }')
if [[ -z $theirs ]]; then
	echo "no librpma.so.0 of the distribution (Debian: librpma0)"
	exit 77
fi
counts=$(mktemp -d)
trap 'rm -rf "$counts"' EXIT

# count NAME LIBRARY - leaves the counters in NAME.1, NAME.2, ...
count()
{
	env ADDR=127.0.0.1 SOFTVERBS_NET="instructions.$$" LD_LIBRARY_PATH="$(dirname "$2")" \
		"$build/tests/softverbs/softverbs-run" \
		valgrind --tool=callgrind --quiet --instr-atstart=no --compress-strings=no \
		--compress-pos=no --callgrind-out-file="$counts/$1" "$build/bench/instructions"
}
count ours "$PWD/$build/src/librpma.so.0"
count theirs "$theirs"

python3 bench/instructions.py "$counts/ours" "$counts/theirs"
