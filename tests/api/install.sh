#!/bin/bash
# install.sh CMAKE BUILD-DIRECTORY COMPILER FLAG... - programs build against what is installed, with
# pkg-config and with CMake, and run
set -euo pipefail

here=$(dirname "$(readlink -f "$0")")
cmake=$1 build=$2 cc=$3
shift 3
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

"$cmake" -S "$here/consumer" -B "$tmp/build" -G Ninja -DCMAKE_C_COMPILER="$cc" -DCMAKE_C_FLAGS="$*" \
	-DCMAKE_PREFIX_PATH="$tmp/usr" >"$tmp/log" 2>&1 &&
	"$cmake" --build "$tmp/build" >>"$tmp/log" 2>&1 || { cat "$tmp/log" >&2; exit 1; }
for program in librpma librpma_static librpma-uv librpma-uv_static; do
	"$tmp/build/$program"
done
