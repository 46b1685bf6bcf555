#!/bin/bash
# Makes this machine's devices, its memory file systems and the source tree (and OUT) appear in the Debian 13
# of folder.sh, at the same paths.
#
#   tests/native/mount.sh FOLDER
#
# In a guest of tests/vm, or in a mount namespace of its own (inside.sh).
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
for dir in /dev /proc /sys /run /tmp "$top" "${OUT-}"; do
	if [[ $dir ]]; then
		mkdir -p "$1$dir"
		mount --rbind "$dir" "$1$dir"
	fi
done
