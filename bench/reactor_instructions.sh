#!/bin/bash
# How many instructions a read takes on the reactor, beside a loop of verbs alone.
#
#   bench/reactor_instructions.sh
#
# Sixteen reads at a time, under callgrind, on a device that is a list. What is counted is all that the
# loop's thread executes outside of the kernel and the device: the program, the reactor, libuv, libc.
# Does all its own set-up and build (preset release). Exits 1 when it is more than what
# reactor_instructions.py allows.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. bench/callgrind-lib.sh

build_release softverbs bench_reactor_instructions
count reads reactor_instructions --separate-threads=yes
python3 bench/reactor_instructions.py "$counts/reads"
