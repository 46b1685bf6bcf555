#!/bin/bash
# symbols.sh LIBRARY LIST - a library exports exactly what the list says, under the same versions
set -euo pipefail
diff -u "$2" <(nm -D --defined-only "$1" | sed 's/^[0-9a-f]* //' | LC_ALL=C sort) || {
	echo "exports have changed: the map, the list and CHANGELOG.md go together" >&2
	exit 1
}
