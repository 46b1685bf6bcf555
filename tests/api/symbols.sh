#!/bin/bash
# symbols.sh LIBRARY LIST [ORIGINAL] - a library exports exactly what the list says, under the same
# versions; and what the original has, and nothing else
set -euo pipefail
diff -u "$2" <(nm -D --defined-only "$1" | sed 's/^[0-9a-f]* //' | LC_ALL=C sort) || {
	echo "exports have changed: the map, the list and CHANGELOG.md go together" >&2
	exit 1
}
[[ -n ${3-} ]] || exit 0

# names LIBRARY - version and name of each symbol that programs may use; what has the private version is for
# librpma_uv of the same build alone
names()
{
	objdump -T "$1" | awk '/ LIBRPMA_/ && !/ LIBRPMA_PRIVATE_/ { print $(NF - 1), $NF }' | LC_ALL=C sort
}

diff -u <(names "$3") <(names "$1") || { echo "the names are not those of $3" >&2; exit 1; }
count=$(names "$1" | grep -c '^LIBRPMA_1\.0 rpma_')
(( count == 84 )) || { echo "$count functions, not 84" >&2; exit 1; }
