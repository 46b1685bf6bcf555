#!/bin/bash
# What a reactor costs the loop that it lives on: sleeps, doorbells, heap calls, a timer beside it, and
# how two connections share it. On the software device; ends 0 when all counts are within their bounds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tests/setup.sh
cmake --preset release >/dev/null
cmake --build --preset release --target bench_loop_health softverbs >/dev/null
ADDR=127.0.0.1 build/release/tests/softverbs/softverbs-run build/release/bench/loop_health
