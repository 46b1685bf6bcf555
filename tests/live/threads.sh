#!/bin/bash
# Many threads in the library at once; on a device that needs nothing preloaded, with the real
# rdma-core, under helgrind as well.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

threads=$BUILD/tests/threads/threads
${under:+"$under"} "$threads"
if [[ -n $under ]]; then
	exit 0 # ctest has it under helgrind
fi
if ldd "$threads" | grep -qE 'lib[a-z]+san\.so'; then
	exit 0 # two tools for the same memory
fi
valgrind --tool=helgrind --quiet --error-exitcode=3 \
	--suppressions="$(dirname "${BASH_SOURCE[0]}")/../threads/helgrind.supp" "$threads"
