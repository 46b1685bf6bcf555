#!/bin/bash
# Programs that know nothing of this project, as Debian ships them, on the device: rping, ucmatose,
# rdma_server and rdma_client, perftest over the connection manager, fio's rdma engine.
# LIMIT=240
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

if [[ -z $under ]]; then
	echo "that they run on the kernel's device is not in question"
	exit 77
fi
if [[ $BUILD == */asan || $BUILD == */tsan ]]; then
	echo "the sanitizers are for our own programs"
	exit 77
fi

# both NAME SERVER-COMMAND -- CLIENT-COMMAND - the client again until the server listens, or, for a client
# that calls it a success when nobody does, once: when the server has said $ready
ready=
figure=
both()
{
	local name=$1 server=() status=1 pid i
	shift
	while [[ $1 != -- ]]; do
		server+=("$1")
		shift
	done
	shift
	$under "${server[@]}" >"$TMP/server" 2>&1 </dev/null &
	pid=$!
	lib_started+=("$pid")
	[[ -z $ready ]] || wait_line "$TMP/server" "$ready" "$pid"
	for (( i = 0; i < 50 && status != 0; i++ )); do
		kill -0 "$pid" 2>/dev/null || break
		status=0
		timeout 60 $under "$@" >"$TMP/client" 2>&1 </dev/null || status=$?
		(( status == 0 )) || read -rt 0.1 <> <(:) || true
	done
	if (( status != 0 )); then
		cat "$TMP/server" "$TMP/client"
		fail "$name: the client's status is $status"
	fi
	status=0
	wait "$pid" || status=$?
	if (( status != 0 )); then
		cat "$TMP/server" "$TMP/client"
		fail "$name: the server's status is $status"
	fi
	echo "figure: $name runs${figure:+: $(grep -aE "$figure" "$TMP/client" | tail -n 1 | tr -s '[:space:]' ' ')}"
}

both rping rping -s -a "$ADDR" -p 7330 -C 1000 -S 4096 -V -- rping -c -a "$ADDR" -p 7330 -C 1000 -S 4096 -V
both ucmatose ucmatose -b "$ADDR" -p 7331 -c 4 -C 20 -- ucmatose -s "$ADDR" -p 7331 -c 4 -C 20
both rdma_client rdma_server -p 7332 -- rdma_client -s "$ADDR" -p 7332
figure='^ *65536'
both ib_read_bw ib_read_bw -R -p 7333 -s 65536 -n 1000 -- ib_read_bw -R -p 7333 -s 65536 -n 1000 "$ADDR"
figure='^ *2 '
both ib_send_lat ib_send_lat -R -p 7334 -n 1000 -- ib_send_lat -R -p 7334 -n 1000 "$ADDR"
fio=(fio --ioengine=rdma --port=7335 --bs=64k --size=16m --iodepth=8)
figure='bw='
ready='waiting for connection'
both fio "${fio[@]}" --name=target --rw=read -- \
	"${fio[@]}" --hostname="$ADDR" --verb=read --rw=write --name=source
