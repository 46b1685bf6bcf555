#!/bin/bash
# Runs a command in the Debian 13 of folder.sh, as root, in the same directory of the source tree.
#
#   tests/native/inside.sh FOLDER COMMAND [ARG...]
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export here

# this machine's compilers are not there
unset CC CXX CFLAGS LDFLAGS CMAKE_C_COMPILER_LAUNCHER
# shellcheck disable=SC2016
exec unshare --mount --propagation private bash -c '
	"$here/mount.sh" "$1"
	export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8
	exec chroot "$1" sh -c '\''cd "$0" && exec "$@"'\'' "$PWD" "${@:2}"' bash "$@"
