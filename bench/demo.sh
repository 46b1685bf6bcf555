#!/bin/bash
# The main job, shown: one thread pulls a remote region over RDMA into a file that is durable and right.
#
#   bench/demo.sh [--size 256M] [--vm]
#
# Does all its own set-up on a fresh machine. Uses the machine's RDMA device; where there is none, the
# software device of tests/softverbs. With --vm it runs in a virtual machine on kernel Soft-RoCE and an
# NVMe disk with ext4: there the emulator sets the speed, so look at the ratios only.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

size=256M
vm=
while (( $# > 0 )); do
	case $1 in
	--size) size=${2:?--size wants a value, such as 64M}; shift ;;
	--vm) vm=1 ;;
	*)
		sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0" >&2
		exit 2
		;;
	esac
	shift
done
bytes=$(numfmt --from=iec "$size") || exit 2
mib=$(( (bytes + 1048575) >> 20 ))

tests/setup.sh
mkdir -p build
cmake --preset release -DBUILD_TESTING=ON >build/demo.log 2>&1 &&
	cmake --build --preset release --target rpma_program softverbs >>build/demo.log 2>&1 ||
	{ tail -n 40 build/demo.log; exit 1; }
rpma=build/release/reactor/tools/rpma

# device_address - the first IPv4 address on an active RDMA link
device_address()
{
	local netdev
	netdev=$(rdma link 2>/dev/null | sed -n 's/.*state ACTIVE.* netdev \([^ ]*\).*/\1/p' | head -n 1)
	[[ -n $netdev ]] || return 1
	ip -o -4 address show dev "$netdev" | sed -n 's/.* inet \([0-9.]*\).*/\1/p' | head -n 1
}

if [[ -n $vm ]]; then
	echo "demo: in a virtual machine with kernel Soft-RoCE"
	exec tests/vm/run.sh --timeout $(( 300 + mib )) --memory $(( 1536 + 2 * mib )) \
		--disk "$(( 256 + mib + mib / 8 ))M" -- bench/demo-run.sh "$bytes" /mnt/nvme "$rpma"
elif address=$(device_address) && [[ -n $address ]]; then
	echo "demo: on this machine's RDMA device, address $address"
	ADDR=$address exec bench/demo-run.sh "$bytes" "$PWD/build" "$rpma"
else
	echo "demo: on the software device, since this machine has no other; --vm is the kernel's"
	ADDR=127.0.0.1 exec bench/demo-run.sh "$bytes" "$PWD/build" \
		build/release/tests/softverbs/softverbs-run "$rpma"
fi
