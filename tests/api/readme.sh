#!/bin/bash
# readme.sh README COMPILER FLAG... - the C program in README.md compiles and links, and is short
set -euo pipefail

readme=$1
shift
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

sed -n '/^```c$/,/^```$/p' "$readme" | sed '1d;$d' >"$tmp/pull.c"
lines=$(wc -l <"$tmp/pull.c")
if (( lines < 30 || lines > 60 )); then
	echo "the program in README.md has $lines lines, not 30 to 60" >&2
	exit 1
fi
# libraries go behind what needs them
"$1" -std=gnu11 "$tmp/pull.c" -o "$tmp/pull" "${@:2}"
