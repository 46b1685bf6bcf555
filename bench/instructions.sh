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
. bench/callgrind-lib.sh

build_release rpma softverbs bench_instructions
theirs=$(ldconfig -p | awk '$1 == "librpma.so.0" && !path { path = $NF } END { print path }')
if [[ -z $theirs ]]; then
	echo "no librpma.so.0 of the distribution (Debian: librpma0)"
	exit 77
fi
LD_LIBRARY_PATH=$PWD/$build/src count ours instructions
LD_LIBRARY_PATH=${theirs%/*} count theirs instructions
python3 bench/instructions.py "$counts/ours" "$counts/theirs"
