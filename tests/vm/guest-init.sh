#!/bin/bash
# Second half of the guest's boot, and its process 1 until power-off: brings up the
# devices, runs the command, reports its status. The host puts beside it, in /run/vm:
#
#   config    VM_NAME, VM_NONCE, ... as shell assignments (lib.sh, vm_start)
#   command   what to run, a shell script
#
# and finds there, written last, the file `status`: the nonce and the command's status. A
# guest that fails before that point writes none, so its run cannot pass by accident.
# Process 1 must not exit: every failure here is a kernel panic, which ends the machine.
set -euo pipefail
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/vm/bin
export HOME=/root LANG=C.UTF-8
exec </dev/null >/dev/console 2>&1
trap 'echo "vm: init: line $LINENO failed: $BASH_COMMAND"' ERR

. /run/vm/config

set_limits()
{
	ulimit -l unlimited
	ulimit -c unlimited
	ulimit -Hn 524288
	echo '/out/core.%e.%p' >/proc/sys/kernel/core_pattern
	echo 0 >/proc/sys/kernel/core_uses_pid
}

# wait_until COMMAND... - for what the kernel does on its own time; 30 s at most
wait_until()
{
	local tries=600
	until "$@"; do
		(( tries-- > 0 ))
		sleep 0.05
	done
}

# port NAME - the device of the virtio-serial port that the host calls NAME
port()
{
	local dir
	for dir in /sys/class/virtio-ports/*; do
		if [[ -e $dir/name && $(<"$dir/name") == "$1" ]]; then
			echo "/dev/${dir##*/}"
			return 0
		fi
	done
	return 1
}

ports_are_there()
{
	output=$(port output) && requests=$(port requests) && orders=$(port orders)
}

mount_disks()
{
	local index mount_point variable
	for (( index = 0; index < VM_DISKS; index++ )); do
		mount_point=/mnt/nvme${index/#0/}
		variable=NVME${index/#0/}
		mkdir -p "$mount_point"
		wait_until test -b "/dev/nvme${index}n1"
		mount -t ext4 "/dev/nvme${index}n1" "$mount_point"
		export "$variable=$mount_point"
	done
}

unmount_disks()
{
	local index
	for (( index = 0; index < VM_DISKS; index++ )); do
		umount -l "/mnt/nvme${index/#0/}"
	done
}

# The kernel's own interface does what ndctl would: all of the first region becomes a device
# that programs map. A file that was set up before is recognized by what is written in it.
bring_up_pmem()
{
	local nd=/sys/bus/nd/devices seed
	wait_until pmem_is_known
	if [[ -z $(<$nd/namespace0.0/holder) ]]; then
		echo namespace0.0 >/sys/bus/nd/drivers/nd_pmem/unbind
		seed=$(<$nd/region0/dax_seed)
		cat /proc/sys/kernel/random/uuid >"$nd/$seed/uuid"
		echo $(( 2 << 20 )) >"$nd/$seed/align"
		echo ram >"$nd/$seed/mode" # the kernel's own records go to ordinary memory
		echo namespace0.0 >"$nd/$seed/namespace"
		echo "$seed" >/sys/bus/nd/drivers/dax_pmem/bind
	fi
	export PMEM=/dev/dax0.0
	wait_until test -c "$PMEM"
}

pmem_is_known()
{
	local dir=/sys/bus/nd/devices/namespace0.0
	[[ -e $dir/driver || -n $(cat $dir/holder 2>/dev/null) ]]
}

rxe_is_active()
{
	[[ $(cat /sys/class/infiniband/rxe0/ports/1/state) == *ACTIVE ]]
}

# With one guest, rxe0 talks to itself over a veth pair; with two, over the wire.
bring_up_rdma()
{
	local link
	if [[ $VM_NETDEV == v0 ]]; then
		link="link add v0 mtu 9000 type veth peer name v1 mtu 9000
			link set v1 up"
	else
		wait_until test -e "/sys/class/net/$VM_NETDEV"
		link="link set $VM_NETDEV mtu 4200"
	fi
	ip -batch - <<-END
		$link
		link set $VM_NETDEV up
		address add $ADDR/24 dev $VM_NETDEV
	END
	rdma link add rxe0 type rxe netdev "$VM_NETDEV"
	wait_until rxe_is_active
}

# run_command - sets $status; the command's output goes to the host's, through a pipe
# since a port can be opened only once and a program may reopen its /dev/stdout
run_command()
{
	local writer command watcher tries pipe
	exec {pipe}> >(exec cat >"$output")
	writer=$!
	echo "vm: kernel $(</proc/sys/kernel/osrelease), $device" >&"$pipe"

	setsid bash /run/vm/command >&"$pipe" 2>&1 {pipe}>&- &
	command=$!
	exec {pipe}>&-
	# The host's only order is to stop.
	(
		read -r _ <"$orders"
		kill -TERM -- "-$command" || exit 0
		for (( tries = 0; tries < 50; tries++ )); do
			kill -0 -- "-$command" || exit 0
			sleep 0.1
		done
		kill -KILL -- "-$command"
	) 2>/dev/null &
	watcher=$!

	status=0
	wait "$command" || status=$?
	if [[ $VM_STAYS ]]; then
		echo "$status" >/run/vm/ended
		wait "$watcher" || true
	fi
	# A process left behind may hold the pipe for ever.
	for (( tries = 0; tries < 20; tries++ )); do
		kill -0 "$writer" 2>/dev/null || break
		sleep 0.05
	done
}

report()
{
	if [[ $VM_GCDA ]] && [[ -d /run/gcda ]]; then
		tar -C /run/gcda -cf /run/vm/gcda.tar .
	fi
	unmount_disks
	echo "$VM_NONCE $status" >/run/vm/status
	sync
	echo o >/proc/sysrq-trigger
	while :; do
		sleep 1
	done
}

set_limits
modules=(virtio_console virtio_rng)
if [[ $VM_RDMA ]]; then
	modules+=(virtio_net veth rdma_rxe rdma_ucm ib_uverbs)
fi
if (( VM_DISKS > 0 )); then
	modules+=(nvme ext4)
fi
if [[ $VM_PMEM ]]; then
	modules+=(nfit nd_pmem dax_pmem device_dax)
fi
# -i: nothing that is installed on the host takes a part in it
modprobe -ai "${modules[@]}"
wait_until ports_are_there
mount_disks
if [[ $VM_PMEM ]]; then
	bring_up_pmem
fi

device="no RDMA device"
if [[ $VM_RDMA ]]; then
	bring_up_rdma
	device="device rxe0 ACTIVE on $VM_NETDEV $ADDR"
fi
if [[ $VM_GCDA ]]; then
	export GCOV_PREFIX=/run/gcda
fi

export VM_REQUESTS=$requests
run_command
report
