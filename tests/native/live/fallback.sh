#!/bin/bash
# Ordinary memory cannot be registered for native flushes to persistence: it is registered all the same, its
# peers flush it by reads, and for what it was not registered a flush is refused.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# refused SERVER CLIENT MEDIUM USAGE TYPE - the flush must be, and nothing else
refused()
{
	try "$@"
	(( status == 1 )) && grep -q 'rpma_flush(.*(Not supported)' "$TMP/store" ||
		{ cat "$TMP/store"; fail "$*: status $status; not refused"; }
	echo "$*: refused"
}

by "flush READ, mark ATOMIC_WRITE" native native memory persistent persistent
by "flush READ, mark ATOMIC_WRITE" native native memory both persistent
by "flush READ, mark ATOMIC_WRITE" native native memory both visible
refused native native memory persistent visible
refused native native memory visible persistent
refused native native "$PMEM" visible persistent
