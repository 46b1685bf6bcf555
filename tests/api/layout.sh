#!/bin/bash
# layout.sh LIST COMPILER FLAG... - what programs have been compiled with is what the list says
set -euo pipefail

list=$1
shift
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

"$@" "$(dirname "$(readlink -f "$0")")/layout.c" -o "$tmp/layout"
"$tmp/layout" >"$tmp/list"
diff -u "$list" "$tmp/list" || {
	echo "programs that were compiled before would not work any more" >&2
	exit 1
}
