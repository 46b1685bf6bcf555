#!/bin/bash
# Prints the directory of a kernel for the guest, and fills it on first use:
#
#   vmlinux  initramfs.gz  release  lib/modules/RELEASE/
#
# The kernel is Debian's own package, unpacked into the cache and never installed.
# RPMA_VM_KERNEL names another package than linux-image-amd64, or PACKAGE/SUITE for one that
# this machine's package lists do not have; RPMA_CACHE names another cache.
set -euo pipefail

PATH=$PATH:/usr/sbin:/sbin
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
package=${RPMA_VM_KERNEL:-linux-image-amd64}
suite=
if [[ $package == */* ]]; then
	suite=${package#*/}
	package=${package%%/*}
fi
cache=${RPMA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rpma-uv}
dir=$cache/vm-$package${suite:+-$suite}

# What the guest needs before it sees the host's file system.
boot_modules=(virtio_pci 9pnet_virtio 9p overlay)

die()
{
	echo "vm: kernel: $*" >&2
	exit 1
}

# apt's helper process refuses directories that only root may enter: let it stay root.
apt_options=(-o "APT::Sandbox::User=$(id -un)")

apt()
{
	apt-get -qq "${apt_options[@]}" "$@" </dev/null
}

# use_suite DIR - let apt know nothing but the suite, by lists in DIR: the system's stay alone
use_suite()
{
	local mirror
	mirror=$("$here/mirror.sh")
	mkdir -p "$1/lists/partial" "$1/cache/archives/partial"
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" \
		>"$1/sources.list"
	apt_options+=(-o "Dir::Etc::sourcelist=$1/sources.list" -o Dir::Etc::sourceparts=/dev/null
		-o "Dir::State::lists=$1/lists" -o "Dir::Cache=$1/cache")
	apt update >/dev/null
}

# linux-image-amd64 only depends on the package that carries the files.
real_package()
{
	apt-cache "${apt_options[@]}" depends --important "$package" 2>/dev/null |
		sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1
}

download()
{
	local name
	name=$(real_package)
	if [[ -z $name ]] && apt-cache "${apt_options[@]}" show "$package" >/dev/null 2>&1; then
		name=$package
	fi
	[[ -n $name ]] && apt download "$name"
}

# extract_vmlinux BZIMAGE VMLINUX - leave nothing to unpack for the emulated processor,
# which takes four seconds for it; offsets as in the kernel's Documentation/x86/boot.rst
extract_vmlinux()
{
	local sectors offset length
	sectors=$(od -An -tu1 -j $((0x1f1)) -N 1 "$1")
	offset=$(od -An -tu4 -j $((0x248)) -N 4 "$1")
	length=$(od -An -tu4 -j $((0x24c)) -N 4 "$1")
	# The last four bytes tell the size of the unpacked kernel; they are not xz's.
	length=$(( length - 4 ))
	if ! head -c $(( (sectors + 1) * 512 + offset + length )) "$1" |
		tail -c "$length" | xz -dc >"$2" 2>/dev/null; then
		cp "$1" "$2"    # packed in another way: slower, but it boots
	fi
}

unpack_kernel()
{
	local work=$1
	mkdir "$work/deb"
	echo "vm: fetching $package (70 MB, once)" >&2
	cd "$work/deb"
	if [[ $suite ]]; then
		use_suite "$work/apt"
	fi
	# The lists of packages may be absent or out of date: refresh them and try again.
	if ! download 2>/dev/null; then
		if [[ $suite ]]; then
			die "cannot fetch $package of $suite"
		elif (( EUID != 0 )); then
			die "cannot fetch $package; type: sudo apt-get update"
		fi
		apt update >/dev/null
		download || die "cannot fetch $package"
	fi
	dpkg -x ./*.deb "$work/tree"

	cd "$work"
	mkdir -p kernel/lib
	extract_vmlinux tree/boot/vmlinuz-* kernel/vmlinux
	if [[ -d tree/usr/lib/modules ]]; then
		mv tree/usr/lib/modules kernel/lib/modules
	else
		mv tree/lib/modules kernel/lib/modules
	fi
	find kernel/lib/modules -name '*.ko.xz' -exec xz -d {} +
	ls kernel/lib/modules >kernel/release
	depmod -b "$work/kernel" "$(<kernel/release)"
}

# pack_initramfs KERNEL WORK - build KERNEL/initramfs.gz, stamped with what went into it
pack_initramfs()
{
	local kernel=$1 work=$2
	local module path count=100 root=$work/root
	mkdir -p "$root/bin" "$root/modules"
	cp "$(type -P busybox)" "$root/bin/busybox"
	install -m 755 "$here/initramfs-init.sh" "$root/init"

	declare -A seen=()
	for module in "${boot_modules[@]}"; do
		while read -r _ path _; do
			if [[ -z ${seen[$path]-} ]]; then
				seen[$path]=1
				cp "$path" "$root/modules/$((count++))-${path##*/}"
			fi
		done < <(modprobe -d "$kernel" -S "$(<"$kernel/release")" \
			--show-depends "$module" | grep '^insmod')
	done
	(cd "$root" && find . | cpio --quiet -o -H newc | gzip -1) >"$work/initramfs.gz"
	mv "$work/initramfs.gz" "$kernel/initramfs.gz"
	initramfs_stamp >"$kernel/initramfs.stamp"
}

initramfs_stamp()
{
	cat "$here/initramfs-init.sh" "${BASH_SOURCE[0]}" "$(type -P busybox)" | cksum
}

for tool in busybox cpio depmod modprobe dpkg flock xz; do
	type -P "$tool" >/dev/null || die "no $tool; run tests/setup.sh"
done

mkdir -p "$cache"
exec {lock}>"$cache/lock"
flock "$lock"

rm -rf "$cache"/work.*          # left by a run that was killed: the lock is ours
work=$(mktemp -d "$cache/work.XXXXXX")
trap 'rm -rf "$work"' EXIT

if [[ ! -e $dir/vmlinux ]]; then
	(unpack_kernel "$work")
	rm -rf "$dir"
	mv -T "$work/kernel" "$dir"
fi
if [[ $(initramfs_stamp) != "$(cat "$dir/initramfs.stamp" 2>/dev/null)" ]]; then
	pack_initramfs "$dir" "$work"
fi
echo "$dir"
