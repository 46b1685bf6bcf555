#!/bin/bash
# serve beside its duties: it names what it will not serve, turns down who is one too many, tells about its
# clients when it is asked to, and ends in good order whatever they are doing, at a second signal as well.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

once_in_guests

to=$ADDR:7332

# stranger_stays [refused] - sets stranger and stranger_log
stranger_stays()
{
	stranger_log=$TMP/stranger.${#lib_started[@]}
	PORT=${to##*:} $under "$live/helpers/stranger" stays "$@" >"$stranger_log" 2>&1 &
	stranger=$!
	lib_started+=("$stranger")
	wait_line "$stranger_log" '^connected' "$stranger"
}

start_serve --memory 1000001 --pattern 7 --listen "$to" --max-clients 1 --verbose
expect 3 'exchange: refused: there is no region named disk' pull "$to/disk" "$NVME/served"
expect 0 '' pull --quiet --verify "$to" "$NVME/served"
wait_line "$serve_log" 'client 0 .*: gone: disconnected' "$serve_pid"
expect 0 '' pull --quiet --verify "$to" "$NVME/again"
cmp "$NVME/served" "$NVME/again"
rm "$NVME/served" "$NVME/again"
stranger_stays
expect 3 'turned down: the server has as many clients as it takes' pull "$to" "$NVME/served"
# both signals at once, with a client inside
kill -STOP "$serve_pid"
kill -INT "$serve_pid"
kill -TERM "$serve_pid"
kill -CONT "$serve_pid"
status=0
wait "$serve_pid" || status=$?
(( status == 0 )) || fail "serve ended with status $status"
wait "$stranger" || { cat "$stranger_log"; fail "the stranger was not let go"; }
for said in connected 'pulls 1000001 bytes from offset 0 on' 'digest told' 'refused: there is no region' \
	'turned down: the server has as many'; do
	grep -q "$said" "$serve_log" || { cat "$serve_log"; fail "serve has not told: $said"; }
done

# a signal while a digest is being computed and the bytes are on their way
truncate -s $big "$TMP/source"
start_serve --file "$TMP/source" --listen "$to" --verbose
"$rpma" pull --quiet --verify "${slow[@]}" "$to" "$NVME/served" 2>"$TMP/errors" &
pull=$!
lib_started+=("$pull")
wait_line "$serve_log" "pulls $big bytes" "$serve_pid"
stranger_stays
stop_serve
wait "$stranger" || { cat "$stranger_log"; fail "the stranger was not let go"; }
status=0
wait "$pull" || status=$?
(( status == 5 )) || { cat "$TMP/errors"; fail "pull: status $status, not 5"; }
one_line "$TMP/errors"
rm -f "$NVME/served.part"

# the source was cut short: what is mapped can be read up to its page's end, and the digest tells
head -c 100000 /dev/urandom >"$TMP/cut"
start_serve --file "$TMP/cut" --listen "$to"
truncate -s 99999 "$TMP/cut"
expect 5 'verify: refused: no digest of the source: end of file' pull --verify "$to" "$NVME/served"
rm -f "$NVME/served.part"
stop_serve
(( unexpected == 0 )) || fail "see above"

# what only the software device does on order
if [[ -z $under ]]; then
	exit 0
fi
export SOFTVERBS_CONTROL=$TMP/control.%p
export SOFTVERBS_FAULTS='create_qp:fail@1=ENOMEM'
start_serve --memory 1M --listen "$to" --verbose
unset SOFTVERBS_FAULTS
expect 2 'connect: connection refused' pull "$to" "$NVME/served"
expect 0 '' pull --quiet "$to" "$NVME/served"
grep -q 'nothing heard: .*not enough memory' "$serve_log" || { cat "$serve_log"; fail "nothing of a client not heard"; }
# a connection that takes no message is ended, not left to itself
echo 'faults post_recv:fail@1=ENOMEM' >"$TMP/control.$serve_pid"
expect 5 'exchange: .*connect' pull "$to" "$NVME/served"
expect 0 '' pull --quiet "$to" "$NVME/served"
# it is not told that this one is connected
echo 'faults cm:drop=ESTABLISHED' >"$TMP/control.$serve_pid"
stranger_stays
stop_serve
wait "$stranger" || { cat "$stranger_log"; fail "the stranger was not let go"; }
# nor of this one, which is gone before it could be
start_serve --memory 1M --listen "$to" --verbose
echo 'faults cm:drop=ESTABLISHED' >"$TMP/control.$serve_pid"
stranger_stays
kill -9 "$stranger"
wait_line "$serve_log" 'not accepted: ' "$serve_pid"
stop_serve
# this one's connection is still being taken down when the signal comes
start_serve --memory 1M --listen "$to" --verbose
stranger_stays
echo 'faults withhold=destroy' >"$TMP/control.$serve_pid"
kill -9 "$stranger"
wait_line "$serve_log" ': gone: ' "$serve_pid"
kill -TERM "$serve_pid"
echo 'release destroy' >"$TMP/control.$serve_pid"
status=0
wait "$serve_pid" || status=$?
(( status == 0 )) || fail "serve ended with status $status"
rm -f "$NVME/served"
(( unexpected == 0 )) || fail "see above"
