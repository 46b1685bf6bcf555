#!/bin/bash
# Whatever call fails, and whenever a signal comes, the program ends with the status for it and one line; the
# server is hurt by nothing that fails for one client. The program is helpers/faulty, its orders are told there.
# LIMIT=300
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

if [[ -z $under ]]; then
	echo "it is the same on any device, and fast on the software device"
	exit 77
fi

use_rpma "$live/helpers/faulty"
export SOFTVERBS_TIMEWAIT_MS=20 # it ends many connections
to="$ADDR:7330"
head -c 100000 /dev/urandom >"$TMP/source"
file=(serve --file "$TMP/source" --listen "$ADDR:7331")
memory=(serve --memory 1M --listen "$ADDR:7331")

# faulty ORDERS STATUS REGEX ARGUMENT... - such an end, by such orders, which have to be met
faulty()
{
	RPMA_FAULTY=$1 expect "${@:2}"
	rm -f "$NVME"/copy*
}

# ---- serve, before it listens
faulty fstat=EIO 4 'source: i/o error' "${file[@]}"
faulty mmap=ENODEV 4 'cannot map .*no such device' "${file[@]}"
faulty EVP_DigestInit_ex=ENOMEM 7 'not enough memory' "${file[@]}"
faulty EVP_DigestUpdate=ENOMEM 7 'not enough memory' "${file[@]}"
faulty EVP_DigestFinal_ex=ENOMEM 7 'not enough memory' "${file[@]}"
faulty getrandom=ENOSYS 7 'no random numbers: function not implemented' "${memory[@]}"
faulty mmap=ENOMEM 7 'cannot get 1048576 bytes of memory' "${memory[@]}"
faulty uv_loop_init=EMFILE 7 'too many open files' "${memory[@]}"
faulty rpma_uv_reactor_init=EMFILE 7 'too many open files' "${memory[@]}"
faulty rpma_uv_peer_new=ENOMEM 7 "$ADDR: not enough memory" "${memory[@]}"
faulty rpma_uv_peer_new=EADDRNOTAVAIL 2 "no RDMA device has the address $ADDR" "${memory[@]}"
faulty rpma_uv_peer_new=ENODEV 2 "no RDMA device has the address $ADDR" "${memory[@]}"
faulty rpma_uv_peer_new=EACCES 2 "$ADDR: permission denied" "${memory[@]}"
faulty rpma_mr_reg@1=EPERM 7 'cannot register 1048576 bytes: operation not permitted$' "${memory[@]}"
faulty rpma_mr_reg@2=EPERM 7 'for messages: operation not permitted$' "${memory[@]}"
ulimit -Sl 512
faulty rpma_mr_reg@1=ENOMEM 7 'cannot register 1048576 bytes: not enough memory .*limit.*524288 bytes' "${memory[@]}"
faulty 'rpma_mr_reg@1=ENOMEM;getrlimit=EPERM' 7 'cannot register 1048576 bytes: not enough memory$' "${memory[@]}"

# ---- pull: the server is an honest one
start_serve --file "$TMP/source" --listen "$to" --verbose
pull=(pull --quiet --verify --chunk 4K "$to" "$NVME/copy")
faulty uv_loop_init=EMFILE 7 'loop: too many open files' "${pull[@]}"
faulty rpma_uv_reactor_init=EMFILE 7 'reactor: too many open files' "${pull[@]}"
faulty rpma_uv_peer_new=EADDRNOTAVAIL 2 "lookup: no RDMA device leads to $ADDR" "${pull[@]}"
faulty rpma_uv_peer_new=ENODEV 2 "lookup: no RDMA device leads to $ADDR" "${pull[@]}"
faulty rpma_uv_peer_new=ENOMEM 7 'lookup: .*not enough memory' "${pull[@]}"
faulty rpma_mr_reg=EPERM 7 'connect: .*operation not permitted' "${pull[@]}"
faulty rpma_mr_reg=ENOMEM 7 'connect: .*not enough memory' "${pull[@]}"
faulty rpma_uv_conn_new=ENOMEM 7 'connect: .*not enough memory' "${pull[@]}"
faulty rpma_uv_connect=ENOMEM 7 'connect: not enough memory' "${pull[@]}"
faulty rpma_uv_send=ECONNRESET 5 'exchange: connection reset' "${pull[@]}"
faulty rpma_uv_pool_new=ENOMEM 7 'buffers: .*not enough memory' "${pull[@]}"
faulty rpma_uv_file_open@1=ENOMEM 7 'open: .*copy.part: not enough memory' "${pull[@]}"
faulty rpma_uv_file_allocate=EDQUOT 4 'allocate at offset 0: disk quota exceeded' "${pull[@]}"
faulty rpma_uv_transfer_new=ENOMEM 7 'transfer: not enough memory' "${pull[@]}"
faulty rpma_uv_pull=ENOMEM 7 'transfer: not enough memory' "${pull[@]}"
faulty rpma_uv_pull=ENOTCONN 5 'transfer: socket is not connected' "${pull[@]}"
faulty rpma_uv_file_read@3=EIO 4 'verify at offset 8192: i/o error' "${pull[@]}"
faulty rpma_uv_file_read@3=NOTHING 4 'verify at offset 8192: end of file' "${pull[@]}"
faulty EVP_DigestUpdate@3=ENOMEM 7 'verify: not enough memory' "${pull[@]}"
faulty EVP_DigestFinal_ex=ENOMEM 7 'verify: not enough memory' "${pull[@]}"
faulty rpma_uv_file_sync@1=EIO 4 'sync: .*copy.part: i/o error' "${pull[@]}"
faulty uv_fs_rename=ENOMEM 7 'rename: .*copy: not enough memory' "${pull[@]}"
faulty rpma_uv_file_open@2=EACCES 4 "sync: $NVME/: permission denied" "${pull[@]}"
faulty rpma_uv_file_sync@2=EIO 4 "sync: $NVME/: i/o error" "${pull[@]}"

# a file system that reserves no space, and is full in the middle; and one that does, and is full at once
mkdir "$TMP/small"
mount -t tmpfs -o size=64K none "$TMP/small"
faulty rpma_uv_file_allocate=EOPNOTSUPP 4 'write at offset [0-9]+: no space left' \
	pull --chunk 4K "$to" "$TMP/small/copy"
rm "$TMP/small"/*
expect 4 'allocate at offset 0: no space left' pull "$to" "$TMP/small/copy"
umount "$TMP/small"
faulty rpma_uv_file_allocate=ENOSYS 0 '' "${pull[@]}"

# ---- a signal at each stage: until the file takes its place it ends pull, from then on nobody hears it
for stage in rpma_uv_peer_new:lookup rpma_uv_connect:connect rpma_uv_send:exchange rpma_uv_pool_new:buffers \
	rpma_uv_file_open@1:open rpma_uv_file_allocate:allocate rpma_uv_pull:transfer rpma_uv_file_read@1:verify \
	rpma_uv_file_read@20:verify rpma_uv_file_sync@1:sync; do
	faulty "${stage%:*}=SIGINT" 130 "${stage#*:}: interrupted" "${pull[@]}"
done
for stage in uv_fs_rename rpma_uv_file_open@2 rpma_uv_file_sync@2 rpma_uv_disconnect; do
	faulty "$stage=SIGTERM" 0 '' "${pull[@]}"
done
faulty 'uv_fs_rename=SIGINT;rpma_uv_file_sync@2=EIO' 4 "sync: $NVME/: i/o error" "${pull[@]}"

# ---- out of memory, in each place that asks for it, up to where there are no more
# whole_report - pull has said all of it, or nothing
whole_report()
{
	[[ ! -s $TMP/out ]] || python3 -c 'import json,sys; json.load(open(sys.argv[1]))["ring"]["wakeups"]' "$TMP/out"
}
# out_of_memory STATUS WORDS ARGUMENT... - that end, or, where a pull gets by without, a complete one;
# leaves the number of places in places
out_of_memory()
{
	local want=$1 words=$2 status
	shift 2
	for (( places = 0; ; places++ )); do
		status=0
		RPMA_FAULTY="memory@$(( places + 1 ))=ENOMEM" timeout 20 "$rpma" "$@" >"$TMP/out" 2>"$TMP/errors" ||
			status=$?
		rm -f "$NVME"/copy*
		if grep -q 'never met' "$TMP/errors"; then
			break
		fi
		whole_report || fail "half a report without allocation $(( places + 1 ))"
		if (( status == 0 )) && [[ -s $TMP/out && ! -s $TMP/errors ]]; then
			continue
		fi
		if (( status != 7 )) && { (( status != want )) || ! grep -aq "$words" "$TMP/errors"; } ||
			! one_line "$TMP/errors"; then
			cat "$TMP/errors"
			fail "status $status without allocation $(( places + 1 )) of rpma $*"
		fi
	done
	echo "figure: $1: $places places ask for memory"
}
out_of_memory 7 'not enough memory' pull --verify --json "$to" "$NVME/copy"
(( places >= 15 )) || fail "that cannot be all of them"
# where a failure is to be told, of a name that is no UTF-8
out_of_memory 3 'not inside the region' pull --json --offset 1G "$to" "$NVME/copy"$'\xff'
stop_serve

# ---- serve, while it serves: who meets the fault suffers in order, the next one is served
# served ORDERS STATUS REGEX LOG - such an end of a pull, and such a word in the log of the server
served()
{
	RPMA_FAULTY=$1 start_serve --file "$TMP/source" --listen "$to" --verbose
	expect "$2" "$3" pull --quiet --verify "$to" "$NVME/copy"
	expect 0 '' pull --quiet --verify "$to" "$NVME/copy"
	cmp "$TMP/source" "$NVME/copy"
	stop_serve
	if ! grep -qE "$4" "$serve_log" || grep -q 'never met' "$serve_log"; then
		cat "$serve_log"
		fail "$1: not in the log: $4"
	fi
	rm -f "$NVME"/copy*
}
served rpma_uv_conn_new@1=ENOMEM 3 'turned down: the server is out of resources' 'turned down: .*out of resources'
served rpma_uv_send@1=EIO 5 'exchange: connection' 'cannot answer: .*i/o error'
served pread@1=EIO 5 'verify: refused: no digest of the source: i/o error' 'refused: no digest'
served pread@1=EINTR 0 '' 'digest told'
served EVP_DigestUpdate@2=ENOMEM 5 'verify: refused: no digest of the source: not enough memory' 'refused: no digest'
served rpma_utils_get_ibv_context=ENODEV 0 '' 'listening on .* device unknown$'

# out of memory: it does not come up, or one client suffers
for (( places = 0; ; places++ )); do
	serve_log=$TMP/serve.memory.$places
	RPMA_FAULTY="memory@$(( places + 1 ))=ENOMEM" "$rpma" serve --file "$TMP/source" --listen "$to" >"$serve_log" 2>&1 &
	serve_pid=$!
	lib_started+=("$serve_pid")
	while kill -0 "$serve_pid" 2>/dev/null && ! grep -q '^listening on' "$serve_log" 2>/dev/null; do
		read -rt 0.02 <> <(:) || true
	done
	if ! grep -q '^listening on' "$serve_log"; then
		status=0
		wait "$serve_pid" || status=$?
		(( status == 7 )) && one_line "$serve_log" || { cat "$serve_log"; fail "status $status, not 7"; }
		continue
	fi
	status=0
	"$rpma" pull --quiet --verify "$to" "$NVME/copy" 2>"$TMP/errors" || status=$?
	if (( status != 0 )); then
		cat "$TMP/errors"
		grep -qE 'turned down: the server is out of resources|no digest of the source: not enough memory' "$TMP/errors" ||
			fail "a client of a server without allocation $(( places + 1 )): status $status"
		expect 0 '' pull --quiet --verify "$to" "$NVME/copy"
	fi
	stop_serve
	if grep -q 'never met' "$serve_log"; then
		break
	fi
	(( status != 0 )) || fail "nobody suffered without allocation $(( places + 1 ))"
done
rm -f "$NVME"/copy*
echo "figure: serve: $places places ask for memory"
(( places >= 9 )) || fail "that cannot be all of them"

(( unexpected == 0 )) || fail "see above"
