#!/bin/bash
# A peer without native operations stores into regions of one with them, and the other way round.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

by "flush READ, mark WRITE" native plain memory visible visible
by "flush READ, mark WRITE" native plain memory both persistent
by "flush READ, mark WRITE" native plain "$PMEM" persistent persistent
by "flush READ, mark WRITE" plain obeying memory visible visible
by "flush READ, mark WRITE" plain obeying "$PMEM" persistent persistent
