#!/bin/bash
# Who says nothing is not waited for: a client, a server, one that was refused, a host that is gone while its
# digest is due; but a server whose digest takes its time is. All at once, since each takes ten seconds.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

once_in_guests

to=$ADDR:7333
start_serve --memory 1M --listen "$to" --verbose
strangers=()
for words in '' refused; do
	PORT=${to##*:} $under "$live/helpers/stranger" stays $words >"$TMP/stranger.$words" 2>&1 &
	strangers+=("$!")
	lib_started+=("$!")
done

port=7380
# patience STATUS REGEX HOW - of a pull --verify from such a liar, in the background
pulls=()
patience()
{
	port=$(( port + 1 ))
	PORT=$port $under "$live/helpers/liar" "$3" >"$TMP/liar.$3" 2>&1 &
	lib_started+=("$!")
	wait_line "$TMP/liar.$3" '^listening on ' "$!"
	{
		status=0
		"$rpma" pull --quiet --verify "$ADDR:$port" "$NVME/$3" 2>"$TMP/errors.$3" || status=$?
		(( status == $1 )) && grep -qE "$2" <(cat "$TMP/errors.$3"; echo "status $status")
	} &
	pulls+=("$!")
}
patience 3 'exchange: the server does not answer' silent
patience 0 'status 0' digest-late
if [[ -n $under ]]; then
	patience 5 'verify: no digest of the source: ' vanishes
fi

failed=
for pid in "${pulls[@]}"; do
	wait "$pid" || failed=1
done
for pid in "${strangers[@]}"; do
	wait "$pid" || failed=1
done
cat "$TMP"/errors.* "$serve_log"
[[ -z $failed ]] || { cat "$TMP"/stranger.*; fail "see above"; }
grep -q 'silent for 10 s: dropped' "$serve_log" || fail "the silent one was not dropped"
grep -q 'refused for 10 s: dropped' "$serve_log" || fail "the refused one was not dropped"
expect 0 '' pull --quiet --verify "$to" "$NVME/after"
(( unexpected == 0 )) || fail "see above"
rm -f "$NVME"/{silent,vanishes}.part "$NVME"/{digest-late,after}
stop_serve
