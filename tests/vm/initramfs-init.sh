#!/bin/busybox sh
# shellcheck shell=dash
# First half of the guest's boot, inside the initramfs: the host's file system becomes
# the root, read-only below an overlay in memory. Then /run/vm/init, which is
# guest-init.sh, takes over. kernel.sh packs this script; the kernel panics when it fails.
# What busybox can do is done here: in the emulator it starts far faster than programs do.
set -e
export PATH=/bin

/bin/busybox mkdir -p /bin /proc /lower /layers /root
/bin/busybox --install -s /bin

for module in /modules/*.ko; do
	insmod "$module"
done

p9=trans=virtio,version=9p2000.L,msize=512000
mount -t 9p -o $p9,cache=loose,ro host /lower
mount -t tmpfs layers /layers
mkdir /layers/upper /layers/work
mount -t overlay -o lowerdir=/lower,upperdir=/layers/upper,workdir=/layers/work root /root

cd /root
mount -t proc proc proc
mount -t sysfs sys sys
mount -t devtmpfs dev dev
mount -t tmpfs run run
mkdir -p run/vm dev/pts dev/shm out lib/modules
mount -t devpts -o gid=5,mode=620,ptmxmode=666 pts dev/pts
mount -t tmpfs -o mode=1777 shm dev/shm
mount -t 9p -o $p9,cache=none ctl run/vm
# cache=mmap: without it a shared writable mapping of a file there is refused.
mount -t 9p -o $p9,cache=mmap out out
ln -sf /proc/self/fd dev/fd
ln -sf fd/0 dev/stdin
ln -sf fd/1 dev/stdout
ln -sf fd/2 dev/stderr

. run/vm/config
hostname "$VM_NAME"
ifconfig lo up
# The kernel's own requests for modules look nowhere else.
mount --bind "/root$VM_KERNEL/lib/modules" lib/modules

exec switch_root /root /bin/bash /run/vm/init
