#!/bin/bash
# Flush and atomic write are operations of the device: in ordinary memory to visibility, in persistent memory
# to persistence too; and a program may be told not to use them.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

by "flush FLUSH, mark ATOMIC_WRITE" native native memory visible visible
by "flush FLUSH, mark ATOMIC_WRITE" native native "$PMEM" persistent persistent
by "flush FLUSH, mark ATOMIC_WRITE" native native "$PMEM" both visible
by "flush READ, mark WRITE" native obeying memory visible visible
by "flush READ, mark WRITE" native obeying "$PMEM" persistent persistent
