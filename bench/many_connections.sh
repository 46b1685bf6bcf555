#!/bin/bash
# What a connection costs when there are ten thousand, beside ten: memory, descriptors, processor time, and
# then, under callgrind, instructions. In one thread, on the in-process wire of the software device.
#
#   bench/many_connections.sh [COUNT]
#
# Does all its own set-up and build (preset release). Exits 1 when an operation among many takes more
# instructions than many_connections.py allows.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. bench/callgrind-lib.sh

count=${1:-10000}
export SOFTVERBS_WIRE=seed SOFTVERBS_SEED=1
build_release softverbs bench_many_connections
"$build/tests/softverbs/softverbs-run" "$build/bench/many_connections" "$count"
count many "many_connections $count" --collect-atstart=no
python3 bench/many_connections.py "$counts/many" "$count"
