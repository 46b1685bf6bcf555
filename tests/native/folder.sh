#!/bin/bash
# Prints the directory of a small Debian 13 with what the project is built with, and fills it on first
# use (600 MB). Its rdma-core has native flush and native atomic write. RPMA_CACHE moves the cache.
set -euo pipefail

PATH=$PATH:/usr/sbin:/sbin
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
suite=trixie
cache=${RPMA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rpma-uv}
dir=$cache/folder-$suite
mapfile -t packages < <("$here/../setup.sh" --list)
packages+=(
	ibverbs-providers
	libcmocka-dev
	librpma-dev # the original, with native operations
	python3
)

die()
{
	echo "folder: $*" >&2
	exit 1
}

# fill DIR - in a mount namespace of its own: what is mounted below DIR goes with it
fill()
{
	local mirror proxy=
	mirror=$("$here/../vm/mirror.sh")
	eval "$(apt-config shell proxy Acquire::http::Proxy)"
	if [[ $proxy ]]; then
		export http_proxy=$proxy
	fi
	export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
	debootstrap --variant=minbase "$suite" "$1" "$mirror"
	# files that nobody reads there
	printf 'path-exclude=/usr/share/%s/*\n' doc man locale >"$1/etc/dpkg/dpkg.cfg.d/small"
	chroot "$1" apt-get -q -y --no-install-recommends install "${packages[@]}"
	rm -rf "$1"/var/cache/apt/* "$1"/var/lib/apt/lists/*
}

if [[ ${1-} == --fill ]]; then
	fill "$2"
	exit
fi

stamp=$(printf '%s\n' "$suite" "${packages[@]}" | cksum)
if [[ $(cat "$dir/stamp" 2>/dev/null) != "$stamp" ]]; then
	for tool in chroot debootstrap flock unshare; do
		type -P "$tool" >/dev/null || die "no $tool; run tests/setup.sh"
	done
	(( EUID == 0 )) || die "making a Debian 13 needs root"
	mkdir -p "$cache"
	exec {lock}>"$cache/folder.lock"
	flock "$lock"
fi
if [[ $(cat "$dir/stamp" 2>/dev/null) != "$stamp" ]]; then
	# whatever happens to be mounted there is not of this kind
	rm -rf --one-file-system "$cache/folder.new" "$dir"
	echo "folder: fetching a Debian 13 (120 MB, once)" >&2
	unshare --mount --propagation private "${BASH_SOURCE[0]}" --fill "$cache/folder.new" \
		</dev/null >"$cache/folder.log" 2>&1 || { tail -n 30 "$cache/folder.log" >&2; die "no Debian 13"; }
	echo "$stamp" >"$cache/folder.new/stamp"
	mv -T "$cache/folder.new" "$dir"
fi
echo "$dir"
