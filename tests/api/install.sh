#!/bin/bash
# install.sh CMAKE BUILD-DIRECTORY MANUAL COMPILER FLAG... - programs build against what is installed,
# with pkg-config and with CMake, and run; and unless MANUAL is empty, since nothing could make them,
# each function that a library exports has its page
set -euo pipefail

here=$(dirname "$(readlink -f "$0")")
cmake=$1 build=$2 manual=$3 cc=$4
shift 4
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

"$cmake" --install "$build" --prefix "$tmp/usr" >"$tmp/log" 2>&1 || { cat "$tmp/log" >&2; exit 1; }
libdir=$(dirname "$(find "$tmp/usr" -name librpma.so.0)")
export PKG_CONFIG_PATH=$libdir/pkgconfig
export LD_LIBRARY_PATH=$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

# the modules describe themselves as installed under the prefix of the build: say where they are now
pkg() { pkg-config --define-variable=libdir="$libdir" --define-variable=includedir="$tmp/usr/include" "$@"; }

for module in librpma librpma-uv; do
	read -ra flags <<<"$(pkg --cflags --libs $module)"
	"$cc" "$@" -Wall -Werror "$here/consumer/$module.c" -o "$tmp/$module" "${flags[@]}"
	"$tmp/$module"
done

# check_manual LIBRARY - a page in section 3 for each function, and not one more; one in section 7
check_manual()
{
	local man=$tmp/usr/share/man name
	nm -D --defined-only "$libdir/$1.so.0" |
		sed -n 's/^.* T \(rpma[a-z0-9_]*\)@@*'"${1^^}"'_[0-9.]*$/\1.3/p' | sort >"$tmp/functions"
	ls "$man/man3" | grep -E "$2" | sort >"$tmp/pages"
	diff -u "$tmp/functions" "$tmp/pages" || { echo "$1: functions and pages differ" >&2; exit 1; }
	command -v man >/dev/null || return 0
	cd "$man"
	man -l $(sed 's|^|man3/|' "$tmp/functions") "man7/$1.7" >"$tmp/text"
	while read -r name; do
		grep -qE "^     .*\b${name%.3}\(.*(,|;)$" "$tmp/text" ||
			{ echo "man3/$name does not read" >&2; exit 1; }
	done <"$tmp/functions"
	echo "$1: $(wc -l <"$tmp/functions") pages"
	cd "$here"
}
if [[ -n $manual ]]; then
	check_manual librpma '^rpma_([^u]|u[^v])'
	check_manual librpma_uv '^rpma_uv_'
fi

"$cmake" -S "$here/consumer" -B "$tmp/build" -G Ninja -DCMAKE_C_COMPILER="$cc" -DCMAKE_C_FLAGS="$*" \
	-DCMAKE_PREFIX_PATH="$tmp/usr" >"$tmp/log" 2>&1 &&
	"$cmake" --build "$tmp/build" >>"$tmp/log" 2>&1 || { cat "$tmp/log" >&2; exit 1; }
for program in librpma librpma_static librpma-uv librpma-uv_static; do
	"$tmp/build/$program"
done
