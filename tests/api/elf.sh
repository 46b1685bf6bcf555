#!/bin/bash
# elf.sh LIBRARY LINK VERBS [ORIGINAL] - the names by which librpma is found, and the libraries and versions it
# asks for; the original is found by the same name, and asks for the same libraries
set -euo pipefail

# expect WHAT WANTED FOUND
expect()
{
	[[ $2 == "$3" ]] || { printf '%s\nwanted: %s\nfound:  %s\n' "$1" "$2" "$3" >&2; exit 1; }
}

# dynamic TAG [LIBRARY] - the values of a tag, sorted, on one line
dynamic()
{
	readelf -d "${2-$lib}" | sed -n "s/.*($1).*\[\(.*\)\].*/\1/p" | LC_ALL=C sort | xargs
}

# needs PREFIX - the versions of a provider's symbols that are asked for
needs()
{
	readelf -V "$lib" | grep -oE "Name: $1[A-Z_]*[0-9.]+" | cut -d' ' -f2 | LC_ALL=C sort -u | xargs
}

lib=$1
expect "file name" librpma.so.0 "$(basename "$lib")"
expect "link" librpma.so.0 "$(readlink "$2")"
expect SONAME librpma.so.0 "$(dynamic SONAME)"
expect NEEDED "libc.so.6 libibverbs.so.1 librdmacm.so.1" "$(dynamic NEEDED)"
expect "versions of librdmacm" RDMACM_1.0 "$(needs RDMACM)"
expect "versions of libibverbs" "$3" "$(needs IBVERBS)"
if [[ -n ${4-} ]]; then
	expect "SONAME of the original" "$(dynamic SONAME "$4")" "$(dynamic SONAME)"
	expect "NEEDED of the original" "$(dynamic NEEDED "$4")" "$(dynamic NEEDED)"
fi
