#!/bin/bash
# The one list of Debian packages that building and testing need.
#
#   tests/setup.sh           install whatever of it is missing
#   tests/setup.sh --build   only what the libraries and the program are built with
#   tests/setup.sh --list    print the names of those, one a line
#
# Quiet and quick when nothing is missing; needs root only when something is.
set -euo pipefail

build=(
	cmake
	gcc
	libc6-dev
	libibverbs-dev
	libjansson-dev
	librdmacm-dev
	libssl-dev
	liburing-dev
	libuv1-dev
	ninja-build
	pkg-config
	python3             # manual pages
)
tests=(
	busybox-static      # the virtual machine: its initramfs, ...
	clang
	cpio
	debootstrap         # a newer Debian, for what its libraries alone can do
	e2fsprogs
	fio
	g++
	gcovr
	git
	ibverbs-providers
	ibverbs-utils
	iproute2            # ip, and rdma
	kmod                # ... its modules, ...
	libcmocka-dev
	librpma-dev         # the original, to run against
	man-db              # manual pages, read by this ...
	mandoc              # ... and by that
	openssl
	perftest
	procps
	qemu-system-x86     # ... and the machine itself
	rdmacm-utils
	strace
	util-linux          # flock, setpriv
	valgrind
	xz-utils
)

want=("${build[@]}" "${tests[@]}")
case "${1-}" in
--build) want=("${build[@]}") ;;
--list) printf '%s\n' "${build[@]}"; exit ;;
'') ;;
*)
	sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0" >&2
	exit 2
	;;
esac

if ! command -v dpkg-query >/dev/null; then
	echo "setup: not a Debian system; the packages wanted, by their Debian names:" \
		"${want[*]}" >&2
	exit 1
fi

list_missing()
{
	local -A installed=()
	local name status
	while read -r name status; do
		if [[ $status == "install ok installed" ]]; then
			installed[$name]=1
		fi
	done < <(dpkg-query -W -f '${Package} ${Status}\n' "${want[@]}" 2>/dev/null)

	missing=()
	for name in "${want[@]}"; do
		if [[ -z ${installed[$name]-} ]]; then
			missing+=("$name")
		fi
	done
}

list_missing
if (( ${#missing[@]} == 0 )); then
	exit 0
fi
if (( EUID != 0 )); then
	echo "setup: missing: ${missing[*]}" >&2
	echo "setup: type: sudo apt-get update && sudo apt-get install" \
		"--no-install-recommends ${missing[*]}" >&2
	exit 1
fi

# Two at a time would quarrel over apt's own locks: the second waits, then looks again.
exec {lock}>/run/rpma-uv-setup.lock
flock "$lock"
list_missing
if (( ${#missing[@]} == 0 )); then
	exit 0
fi

echo "setup: installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get -q update &&
	apt-get -q -y --no-install-recommends -o DPkg::Lock::Timeout=600 \
		install "${missing[@]}"; } </dev/null >"$log" 2>&1; then
	tail -n 30 "$log" >&2
	echo "setup: apt-get failed; the lines above say why" >&2
	exit 1
fi
