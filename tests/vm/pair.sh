#!/bin/bash
# Runs two commands in two virtual machines with a wire between them.
#
#   tests/vm/pair.sh [OPTION...] --server COMMAND --client COMMAND
#
# Both commands are for sh. Options are those of run.sh; here --disk SIZE gives a disk to
# each guest, --server-disk and --client-disk (SIZE or FILE) to one, and likewise --pmem SIZE,
# --server-pmem and --client-pmem. Both see the same /out. Default: one processor each.
#
# The server's guest starts first, but nothing else orders the two commands: let one say
# `vm-host post ready` and the other `vm-host wait ready`. vm-host (see there) also cuts
# the power or the wire, at the moment a command chooses.
#
# In each command's environment, besides that of run.sh: ADDR, its own address, and PEER,
# the other's; 10.9.9.1 is the server's, 10.9.9.2 the client's.
#
# The run ends with the client's command and has its status; the server's command is sent
# SIGTERM then, and SIGKILL 5 s later. The server's output is printed with a prefix. Exits
# 124, 125, 137 as run.sh does; 125 also when the server's guest died unasked.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

server=
client=
server_disks=()
client_disks=()
server_pmem=
client_pmem=
while (( $# > 0 )); do
	case $1 in
	--help)
		vm_usage
		exit 0
		;;
	--server | --client | --server-disk | --client-disk | --server-pmem | --client-pmem)
		(( $# > 1 )) || vm_die "$1 wants a value"
		;;&
	--server) server=$2 ;;
	--client) client=$2 ;;
	--server-disk) server_disks+=("$2") ;;
	--client-disk) client_disks+=("$2") ;;
	--server-pmem) server_pmem=$2 ;;
	--client-pmem) client_pmem=$2 ;;
	*)
		vm_parse_option "$@" || { vm_usage >&2; exit 125; }
		shift "$vm_shift"
		continue
		;;
	esac
	shift 2
done
[[ -n $server && -n $client ]] || { vm_usage >&2; exit 125; }

vm_print()
{
	if [[ $1 == server ]]; then
		exec sed -u 's/^/server: /'
	fi
	exec cat
}

# The wire says ok when a guest can be plugged in.
start_wire()
{
	coproc vm_wire {
		exec setpriv --pdeathsig KILL "$vm_here/wire.py" "$vm_tmp/wire1" "$vm_tmp/wire2"
	}
	vm_wire_in=${vm_wire[1]} vm_wire_out=${vm_wire[0]}
	until vm_read "$vm_wire_out"; do
		kill -0 "$vm_wire_PID" || vm_die "no wire"
	done
}

# nic NUMBER - sets $wire: the network card NUMBER and its end of the wire
nic()
{
	wire=(
		-netdev "stream,id=wire,server=off,addr.type=unix,addr.path=${vm_tmp//,/,,}/wire$1"
		-device "virtio-net-pci,netdev=wire,id=nic,mac=52:54:00:09:09:0$1,romfile="
	)
}

# The server's guest is told to stop; one that does not is killed.
stop_server()
{
	local limit=$(( SECONDS + 15 ))
	if ! vm_running server; then
		return 0
	fi
	kill -CONT "${vm_pid[server]}"
	echo stop 1<>"$vm_tmp/server/orders"
	if (( vm_deadline > limit )); then
		vm_deadline=$limit
	fi
	vm_attend server
}

vm_cpus=${vm_cpus:-1}
vm_setup

vm_guest_disks=(${vm_disks[0]+"${vm_disks[@]}"} ${server_disks[0]+"${server_disks[@]}"})
vm_guest_pmem=${server_pmem:-$vm_pmem}
start_wire
nic 1
if ! vm_start server "$server" VM_NETDEV=eth0 VM_STAYS=1 \
	ADDR=10.9.9.1 PEER=10.9.9.2 -- "${wire[@]}"; then
	vm_take_status server
	exit 125
fi

vm_guest_disks=(${vm_disks[0]+"${vm_disks[@]}"} ${client_disks[0]+"${client_disks[@]}"})
vm_guest_pmem=${client_pmem:-$vm_pmem}
nic 2
vm_start client "$client" VM_NETDEV=eth0 VM_STAYS= \
	ADDR=10.9.9.2 PEER=10.9.9.1 -- "${wire[@]}" || true

vm_attend client
vm_take_status client
status=$vm_status
stop_server
vm_take_status server
if [[ $vm_status == 125 ]]; then
	status=125
elif [[ -z ${vm_cut[server]-} ]]; then
	echo "vm: server: its command ended with status $vm_status" >&2
fi
exit "$status"
