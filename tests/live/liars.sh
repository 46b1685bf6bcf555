#!/bin/bash
# A server that lies to pull, in one way each: pull ends with the status for it and one line, and what it
# left under the name of the file is nothing.
# LIMIT=300
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

once_in_guests

port=7360
# start_liar HOW - sets liar, and liar_log
start_liar()
{
	port=$(( port + 1 ))
	liar_log=$TMP/liar.$1
	PORT=$port $under "$live/helpers/liar" "$1" >"$liar_log" 2>&1 &
	liar=$!
	lib_started+=("$liar")
	wait_line "$liar_log" '^listening on ' "$liar"
}

# lied_to HOW STATUS REGEX OPTION...
lied_to()
{
	local how=$1 status=0
	start_liar "$how"
	expect "$2" "$3" pull --quiet "${@:4}" "$ADDR:$port" "$NVME/lie"
	wait "$liar" || status=$?
	(( status == 0 )) || { cat "$liar_log"; fail "liar $how: status $status"; }
	if [[ $2 != 0 && -e $NVME/lie ]]; then
		echo "$how: there is a file"
		unexpected=$(( unexpected + 1 ))
	fi
	rm -f "$NVME/lie" "$NVME/lie.part"
}

# the liar can tell the truth
lied_to honest 0 '' --verify
# at the door
lied_to other-kind 3 'not an rpma server: a message of an unknown kind'
lied_to other-version 3 'not an rpma server: it speaks another version'
lied_to rejects 2 'connect: connection refused'
lied_to rejects-version 3 'turned down: it speaks another version'
lied_to turns-down 3 'turned down: it is not a good day'
# asked
lied_to dies 5 'exchange: connection reset'
lied_to digest-instead 3 'exchange: .*answer is wrong: a message of an unknown kind'
lied_to garbage 3 'exchange: .*answer is wrong: it does not speak'
lied_to no-descriptor 3 'exchange: .*descriptor is not one'
lied_to other-offset 3 'exchange: the server offers 65535 bytes from offset 1 on'
lied_to shorter 3 'exchange: the server offers 65535 bytes from offset 0 on' --length 64K
lied_to too-much 3 'exchange: the region has 65536 bytes, the server said 131072'
# about the digest
lied_to digest-length 3 'verify: .*of another range' --verify
lied_to digest-offset 3 'verify: .*of another range' --verify
lied_to digest-wrong 6 "verify: the file's SHA-256 is [0-9a-f]{64}, the source's [0-9a-f]{64}" --verify
lied_to region-twice 3 'verify: .*answer is wrong' --verify
(( unexpected == 0 )) || fail "see above"

# interrupted HOW WORD STAGE SIGNAL... - the signals while pull waits for a server that does not come to the
# point; WORD is what the server says before
interrupted()
{
	local how=$1 word=$2 stage=$3 status=0 pull signal
	shift 3
	start_liar "$how"
	"$rpma" pull --quiet --verify "$ADDR:$port" "$NVME/lie" 2>"$TMP/errors" &
	pull=$!
	lib_started+=("$pull")
	wait_line "$liar_log" "$word" "$pull"
	while [[ $how == digest-never && ! -e $NVME/lie.part ]]; do
		read -rt 0.02 <> <(:) || true
	done
	# all of them at once, however busy it is
	kill -STOP "$pull"
	for signal; do
		kill "-$signal" "$pull"
	done
	kill -CONT "$pull"
	wait "$pull" || status=$?
	cat "$TMP/errors"
	(( status == 130 )) || fail "$how: interrupted, but status $status"
	one_line "$TMP/errors"
	grep -qE "$stage: interrupted" "$TMP/errors" || fail "$how: not in $stage"
	kill "$liar" 2>/dev/null || true
	wait "$liar" || true
	rm -f "$NVME/lie.part"
}
interrupted leaves-alone requested connect TERM
interrupted silent asked exchange INT
interrupted silent asked exchange INT TERM
interrupted digest-never asked '(transfer|verify|open|allocate|buffers)' INT
