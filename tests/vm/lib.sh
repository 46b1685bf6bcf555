# shellcheck shell=bash disable=SC2034,SC2054,SC2093,SC1083,SC2154
# What run.sh and pair.sh share: options, guests, and the talk with them.
#
# A guest NAME has a directory $vm_tmp/NAME:
#
#   ctl/             the guest's /run/vm: init, config, command; status comes back there
#   disk0 ... pmem   its disks and persistent memory, unless the caller named files
#   output           FIFO, the command's output
#   requests.in      FIFO, answers to the guest's requests
#   requests.out     the FIFO $vm_tmp/requests, common to all guests
#   orders           FIFO, a line there tells the guest to stop
#   qmp.in qmp.out   FIFOs, QEMU's monitor
#   console.log qemu.log
#
# Every machine is ended by its process id, at the latest when this shell dies: also when
# it is killed (setpriv --pdeathsig).

PATH=$PATH:/usr/sbin:/sbin
vm_here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# Options, as vm_parse_option leaves them.
vm_timeout=300
vm_memory=2048
vm_cpus=
vm_out=
vm_console=
vm_gcda=
vm_rdma=1
vm_disks=()
vm_pmem=
vm_env=()

declare -A vm_pid=()    # the guests that run
declare -A vm_cut=()    # the guests that lost their power on request
declare -A vm_nonce=() vm_printer=() vm_qmp_out=()
declare -A vm_posted=() # words from vm-host post

vm_die()
{
	echo "vm: $*" >&2
	exit 125
}

# A mistake in these scripts must not look like the command's own status.
set -E
trap 'vm_die "internal error: ${BASH_SOURCE[0]##*/}:$LINENO: $BASH_COMMAND"' ERR

# vm_parse_option OPTION [VALUE] - sets $vm_shift, or fails: not a common option
vm_parse_option()
{
	vm_shift=2
	case $1 in
	--timeout | --memory | --cpus | --out | --console | --disk | --pmem | --env)
		if (( $# < 2 )); then
			vm_die "$1 wants a value"
		fi
		;;
	esac
	case $1 in
	--timeout) vm_timeout=$2 ;;
	--memory) vm_memory=$2 ;;
	--cpus) vm_cpus=$2 ;;
	--out) vm_out=$2 ;;
	--console) vm_console=$2 ;;
	--disk) vm_disks+=("$2") ;;
	--pmem) vm_pmem=$2 ;;
	--env)
		[[ $2 =~ ^[A-Za-z_][A-Za-z0-9_]*= ]] || vm_die "--env $2: not NAME=VALUE"
		vm_env+=("$2")
		;;
	--gcda) vm_gcda=1 vm_shift=1 ;;
	--no-rdma) vm_rdma='' vm_shift=1 ;;
	*) return 1 ;;
	esac
}

vm_usage()
{
	sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0"
}

# vm_setup - to be called once, after the options are known
vm_setup()
{
	local tool
	for tool in qemu-system-x86_64 setpriv mkfs.ext4 ip rdma; do
		type -P "$tool" >/dev/null ||
			vm_die "no $tool; run tests/setup.sh"
	done
	vm_kernel=$("$vm_here/kernel.sh") || vm_die "no kernel for the guest"
	vm_deadline=$(( SECONDS + vm_timeout ))

	trap vm_cleanup EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	vm_tmp=$(mktemp -d "${TMPDIR:-/tmp}/rpma-vm.XXXXXX")
	mkfifo "$vm_tmp/requests" "$vm_tmp/idle"
	exec {vm_requests}<>"$vm_tmp/requests" {vm_idle}<>"$vm_tmp/idle"
	if [[ -z $vm_out ]]; then
		vm_out=$vm_tmp/out
	fi
	mkdir -p "$vm_out"
	vm_out=$(cd "$vm_out" && pwd)
}

vm_cleanup()
{
	local name
	for name in "${!vm_pid[@]}"; do
		vm_kill "$name"
	done
	rm -rf "$vm_tmp"
}

# vm_disk_option NAME INDEX DISK - QEMU's options for one disk, into $vm_args; DISK is a
# size, for a disk that goes with the run, or the path of a file, which stays
vm_disk_option()
{
	local file=$3
	if [[ $file != */* ]]; then
		file=$vm_tmp/$1/disk$2
		truncate -s "$3" "$file" || vm_die "--disk $3: not a size"
	elif [[ ! -e $file ]]; then
		vm_die "--disk $file: no such file (truncate -s SIZE makes one)"
	fi
	if [[ -z $(blkid -p "$file" 2>/dev/null) ]]; then
		mkfs.ext4 -q -F -E assume_storage_prezeroed=1 "$file" ||
			vm_die "--disk $3: cannot be formatted"
	fi
	vm_args+=(-drive "file=${file//,/,,},if=none,id=disk$2,format=raw"
		-device "nvme,drive=disk$2,serial=disk$2")
}

# vm_pmem_option NAME PMEM - QEMU's options for persistent memory, into $vm_args; PMEM is as
# DISK above. What the guest stores there is in the file, whatever becomes of the guest.
vm_pmem_option()
{
	local file=$2 bytes
	if [[ $file != */* ]]; then
		file=$vm_tmp/$1/pmem
		truncate -s "$2" "$file" || vm_die "--pmem $2: not a size"
	elif [[ ! -e $file ]]; then
		vm_die "--pmem $file: no such file (truncate -s SIZE makes one)"
	fi
	bytes=$(stat -c %s "$file")
	(( bytes >= 32 << 20 && bytes % (2 << 20) == 0 )) ||
		vm_die "--pmem $2: not a multiple of 2M, or less than 32M"
	vm_args+=(-machine nvdimm=on -m "slots=1,maxmem=$(( vm_memory + (bytes >> 20) ))M"
		-object "memory-backend-file,id=pmem,share=on,mem-path=${file//,/,,},size=$bytes,align=2M"
		-device nvdimm,id=nvdimm,memdev=pmem)
}

# vm_share TAG DIR - a 9p share, into $vm_args
vm_share()
{
	vm_args+=(-virtfs "local,mount_tag=$1,path=${2//,/,,},security_model=none,multidevs=remap${3-}")
}

# vm_write_ctl NAME COMMAND [CONFIG...] - fill the guest's /run/vm
vm_write_ctl()
{
	local name=$1 command=$2 ctl=$vm_tmp/$1/ctl
	shift 2
	mkdir -p "$ctl/bin"
	cp "$vm_here/guest-init.sh" "$ctl/init"
	cp "$vm_here/vm-host" "$ctl/bin/vm-host"
	vm_nonce[$name]=$(od -An -N8 -tx8 /dev/urandom | tr -d ' ')
	{
		printf '%q\n' "VM_NAME=$name" "VM_NONCE=${vm_nonce[$name]}" \
			"VM_KERNEL=$vm_kernel" "VM_RDMA=$vm_rdma" "VM_GCDA=$vm_gcda" \
			"VM_DISKS=${#vm_guest_disks[@]}" "VM_PMEM=$vm_guest_pmem" "$@"
	} >"$ctl/config"
	{
		printf 'export %q\n' "VM_NAME=$name" OUT=/out "${@:3}" \
			${vm_env[0]+"${vm_env[@]}"}
		printf 'cd %q || exit\n' "$PWD"
		echo "$command"
	} >"$ctl/command"
}

# vm_start NAME COMMAND VM_NETDEV=... VM_STAYS=... ADDR=... [PEER=...] -- QEMU-ARG...
#
# Boots a guest; its disks are those in $vm_guest_disks, its persistent memory is
# $vm_guest_pmem. Returns when QEMU has opened its
# devices; fails, with the reason in qemu.log, when it could not.
vm_start()
{
	local name=$1 command=$2 dir=$vm_tmp/$1 index cpu accel
	local config=()
	shift 2
	while [[ $1 != -- ]]; do
		config+=("$1")
		shift
	done
	shift

	mkdir -p "$dir"
	vm_write_ctl "$name" "$command" "${config[@]}"
	mkfifo "$dir"/{output,requests.in,orders,qmp.in,qmp.out}
	ln -s "$vm_tmp/requests" "$dir/requests.out"

	# The emulator's carry-less multiply and five-level page tables only cost time.
	accel=${RPMA_VM_ACCEL:-tcg,thread=multi}
	cpu=max,-pclmulqdq,-la57
	if [[ $accel == kvm* ]]; then
		cpu=host
	fi

	local path=${dir//,/,,}
	vm_args=(
		-name "$name" -machine q35 -accel "$accel" -cpu "$cpu"
		-smp "${vm_cpus:-2}" -m "$vm_memory"
		-nodefaults -no-user-config -display none -no-reboot
		-kernel "$vm_kernel/vmlinux" -initrd "$vm_kernel/initramfs.gz"
		-append "console=ttyS0 quiet panic=-1 oops=panic mitigations=off"
		-serial "file:$dir/console.log"
		-chardev "pipe,id=qmp,path=$path/qmp" -mon chardev=qmp,mode=control
		-device virtio-rng-pci
		-device virtio-serial-pci
		-chardev "file,id=output,path=$path/output"
		-device virtserialport,chardev=output,name=output
		-chardev "pipe,id=requests,path=$path/requests"
		-device virtserialport,chardev=requests,name=requests
		-chardev "pipe,id=orders,path=$path/orders"
		-device virtserialport,chardev=orders,name=orders
	)
	vm_share host / ,readonly=on
	vm_share ctl "$dir/ctl"
	vm_share out "$vm_out"
	for index in "${!vm_guest_disks[@]}"; do
		vm_disk_option "$name" "$index" "${vm_guest_disks[$index]}"
	done
	if [[ $vm_guest_pmem ]]; then
		vm_pmem_option "$name" "$vm_guest_pmem"
	fi

	vm_print "$name" <"$dir/output" &
	vm_printer[$name]=$!
	setpriv --pdeathsig KILL qemu-system-x86_64 "${vm_args[@]}" "$@" \
		</dev/null >"$dir/qemu.log" 2>&1 &
	vm_pid[$name]=$!

	# QEMU greets its monitor when all devices are open.
	exec {vm_qmp_out[$name]}<>"$dir/qmp.out"
	until vm_read "${vm_qmp_out[$name]}"; do
		(( SECONDS < vm_deadline )) && vm_running "$name" || return 1
	done
	vm_qmp "$name" '{"execute": "qmp_capabilities"}'
}

# What a guest's command prints; run.sh leaves it as it is.
vm_print()
{
	exec cat
}

# vm_read FD - sets $vm_line if a line has come, else fails after 20 ms. A bare `read -t`
# will not do: where time is over in the middle of a line it loses what it has read.
vm_read()
{
	vm_line=
	if ! read -r -t 0 -u "$1"; then
		read -r -t 0.02 -u "$vm_idle" || true
		return 1
	fi
	read -r -u "$1" vm_line
}

# vm_qmp NAME COMMAND - have QEMU's monitor do something, and wait until it is done
vm_qmp()
{
	local limit=$(( SECONDS + 10 ))
	echo "$2" 1<>"$vm_tmp/$1/qmp.in"
	while (( SECONDS < limit )) && vm_running "$1"; do
		if vm_read "${vm_qmp_out[$1]}"; then
			case $vm_line in
			*'"return"'*) return 0 ;;
			*'"error"'*) return 1 ;;
			esac
		fi
	done
	return 1
}

vm_running()
{
	[[ -n ${vm_pid[$1]-} ]] && kill -0 "${vm_pid[$1]}" 2>/dev/null
}

# vm_kill NAME - the power cut; nothing of the guest is left when this returns
vm_kill()
{
	if [[ -n ${vm_pid[$1]-} ]]; then
		{
			kill -KILL "${vm_pid[$1]}" || true
			vm_reap "$1"
		} 2>/dev/null # the shell's own word about it
	fi
}

# vm_reap NAME - wait for a machine that has ended, and for the last of its output
vm_reap()
{
	local unblock
	wait "${vm_pid[$1]}" || true
	unset "vm_pid[$1]"
	# If QEMU never opened the FIFO its reader still waits for someone to do so.
	exec {unblock}<>"$vm_tmp/$1/output"
	exec {unblock}>&-
	wait "${vm_printer[$1]}" || true
	unset "vm_printer[$1]"
}

# vm_answer FROM VERB [WORD] - do what a guest asked for; sets $vm_reply
vm_answer()
{
	local from=$1 verb=$2 word=${3-} name
	local target=${verb#*-}
	if [[ $target == self ]]; then
		target=$from
	fi
	vm_reply=ok
	case $verb in
	post)
		vm_posted[$word]=1
		;;
	wait)
		[[ -n ${vm_posted[$word]-} ]] || vm_reply="not yet"
		;;
	kill-* | stop-* | cont-*)
		if ! vm_running "$target"; then
			vm_reply="no such guest"
		elif [[ $verb == kill-* ]]; then
			vm_cut[$target]=1
			vm_kill "$target"
		else
			kill -s "${verb%%-*}" "${vm_pid[$target]}"
		fi
		;;
	link-down | link-up)
		for name in "${!vm_pid[@]}"; do
			vm_qmp "$name" '{"execute": "set_link", "arguments": {"name": "wire",
				"up": '"$([[ $verb == link-up ]] && echo true || echo false)"'}}' ||
				vm_reply="no link"
		done
		;;
	wire-cut | wire-mend)
		if [[ -z ${vm_wire_in-} ]]; then
			vm_reply="no wire"
		else
			echo "${verb#wire-}" >&"$vm_wire_in"
			read -r vm_reply <&"$vm_wire_out"
		fi
		;;
	*)
		vm_reply="unknown request"
		;;
	esac
}

# vm_attend NAME - answer requests until guest NAME has ended; exits with 124 past the
# deadline, with 125 when another guest dies meanwhile
vm_attend()
{
	local from verb word other
	while vm_running "$1"; do
		for other in "${!vm_pid[@]}"; do
			if [[ $other != "$1" ]] && ! vm_running "$other"; then
				vm_reap "$other"
				vm_take_status "$other"
				exit 125
			fi
		done
		if (( SECONDS >= vm_deadline )); then
			vm_kill "$1"
			echo "vm: the time limit of $vm_timeout s is over" >&2
			vm_show_console "$1"
			exit 124
		fi
		if vm_read "$vm_requests"; then
			read -r from verb word <<<"$vm_line"
			if [[ ! -d $vm_tmp/$from/ctl ]]; then
				continue
			fi
			vm_answer "$from" "$verb" "$word"
			echo "$vm_reply" 1<>"$vm_tmp/$from/requests.in"
		fi
	done
	if [[ -n ${vm_pid[$1]-} ]]; then
		vm_reap "$1"
	fi
}

vm_show_console()
{
	sed 's/^/vm: qemu: /' "$vm_tmp/$1/qemu.log" >&2
	tr -d '\r' <"$vm_tmp/$1/console.log" | tail -n 40 | sed "s/^/vm: $1: /" >&2
}

# vm_take_status NAME - sets $vm_status: the command's, 137 after a power cut that was
# asked for, 125 when the guest ended in any other way
vm_take_status()
{
	local nonce='' status=''
	if [[ -n $vm_console ]]; then
		cat "$vm_tmp/$1/console.log" >>"$vm_console"
	fi
	if [[ -e $vm_tmp/$1/ctl/status ]]; then
		read -r nonce status <"$vm_tmp/$1/ctl/status" || true
	fi
	if [[ $nonce == "${vm_nonce[$1]}" && $status =~ ^[0-9]+$ ]]; then
		vm_status=$status
		vm_merge_gcda "$1"
	elif [[ -n ${vm_cut[$1]-} ]]; then
		echo "vm: $1: power cut, as asked" >&2
		vm_status=137
	else
		echo "vm: $1: the guest died before its command had ended" >&2
		vm_show_console "$1"
		vm_status=125
	fi
}

# vm_merge_gcda NAME - add the guest's coverage counts to those on the host, file by file
vm_merge_gcda()
{
	local tar=$vm_tmp/$1/ctl/gcda.tar work=$vm_tmp/$1/gcda lock path
	if [[ ! -e $tar ]]; then
		return 0
	fi
	mkdir -p "$work/guest" "$work/host"
	tar -C "$work/guest" -xf "$tar"
	exec {lock}>"${RPMA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rpma-uv}/gcda.lock"
	flock "$lock"
	while read -r path; do
		if [[ -e /$path ]]; then
			mkdir -p "$work/host/${path%/*}"
			cp "/$path" "$work/host/$path"
		fi
	done < <(cd "$work/guest" && find . -name '*.gcda' | sed 's,^\./,,')
	gcov-tool merge -o "$work/sum" "$work/host" "$work/guest" >"$work/log" 2>&1 || {
		cat "$work/log" >&2
		vm_die "gcov-tool cannot merge the guest's counts"
	}
	(cd "$work/sum" && find . -name '*.gcda' -exec cp --parents {} / \;)
	exec {lock}>&-
}
