#!/bin/bash
# Runs a command as root in a virtual machine that has an RDMA device.
#
#   tests/vm/run.sh [OPTION...] -- COMMAND [ARG...]
#
#   --timeout SEC      then the guest is killed; default 300
#   --disk SIZE|FILE   an NVMe disk with ext4; repeatable. SIZE: gone after the run;
#                      FILE: kept, and formatted only if it is blank
#   --pmem SIZE|FILE   persistent memory, as a device of its own (devdax). SIZE: gone after
#                      the run; FILE: kept, and formatted only if it is blank
#   --out DIR          writable in the guest as /out
#   --env NAME=VALUE   into the command's environment; repeatable
#   --gcda             add the guest's coverage counts to the *.gcda files of the host
#   --console FILE     append the guest's console to FILE
#   --memory MB        default 2048
#   --cpus N           default 2
#   --no-rdma          no RDMA device
#
# The guest sees the host's files, at the same paths and in the same directory; what it
# changes is forgotten, except below /out. In the command's environment: OUT=/out,
# ADDR=10.9.9.1 (of the device rxe0), NVME=/mnt/nvme, NVME1=/mnt/nvme1, ...,
# PMEM=/dev/dax0.0.
#
# Exits with the command's status; 124 when its time was over, 125 when there was no such
# status (no guest, a panic), 137 after `vm-host kill-self` in the guest.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

while (( $# > 0 )); do
	case $1 in
	--help) vm_usage; exit 0 ;;
	--) shift; break ;;
	esac
	vm_parse_option "$@" || { vm_usage >&2; exit 125; }
	shift "$vm_shift"
done
(( $# > 0 )) || { vm_usage >&2; exit 125; }

vm_setup
vm_guest_disks=(${vm_disks[0]+"${vm_disks[@]}"})
printf -v command '%q ' "$@"
vm_guest_pmem=$vm_pmem
vm_start guest "exec $command" VM_NETDEV=v0 VM_STAYS= ADDR=10.9.9.1 -- || true
vm_attend guest
vm_take_status guest
exit "$vm_status"
