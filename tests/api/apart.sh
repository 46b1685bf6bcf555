#!/bin/bash
# apart.sh NINJA BUILD OUR-HEADER ORIGINAL-HEADER LIBRARY... - with the original installed beside it, this
# build still uses its own header and its own libraries, and the programs of tests/compat the original's
set -euo pipefail

ninja=$1 build=$2 ours=$(readlink -f "$3") original=$4
shift 4
cd "$build"

# object and header, one pair a line
used=$("$ninja" -t deps | awk '/^[^ ].*\(VALID\)/ { object = $1; sub(":$", "", object) }
	/^ .*\/librpma\.h$/ { print object, $1 }' | while read -r object header; do
	echo "$object $(readlink -f "$header")"
done)
wrong=$(awk -v ours="$ours" -v original="$original" '
	($1 ~ /^tests\/compat\//) != ($2 == original) || ($2 != original && $2 != ours)' <<<"$used")
if [[ -n $wrong ]]; then
	printf 'not the header they should use:\n%s\n' "$wrong" >&2
	exit 1
fi
for header in "$ours" "$original"; do
	grep -qF " $header" <<<"$used" || { echo "nothing uses $header" >&2; exit 1; }
done

# whatever asks for librpma.so.0 gets the first of LIBRARY...
for file in "$@" reactor/tools/rpma; do
	found=$(env -u LD_LIBRARY_PATH ldd "$file" | awk '$1 == "librpma.so.0" { print $3 }')
	if [[ $file != "$1" && $(readlink -f "$found") != "$(readlink -f "$1")" ]]; then
		echo "$file gets librpma.so.0 from: ${found:-nowhere}" >&2
		exit 1
	fi
done
