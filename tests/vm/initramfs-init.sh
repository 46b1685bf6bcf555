#!/bin/busybox sh
# First half of the guest's boot, inside the initramfs: the host's file system becomes
# the root, read-only below an overlay in memory. Then /run/vm/init, which is
# guest-init.sh, takes over. kernel.sh packs this script; kernel messages say what failed.
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

mount -t proc proc /root/proc
mount -t sysfs sys /root/sys
mount -t devtmpfs dev /root/dev
mount -t tmpfs run /root/run
mkdir /root/run/vm
mount -t 9p -o $p9,cache=none ctl /root/run/vm

exec switch_root /root /bin/bash /run/vm/init
