# What the live tests share; sourced by each. Fails fast, ends what it started by its process id.
set -euo pipefail

# use_rpma PROGRAM - that one is $rpma, under what brings the device where that is no part of the machine
under=${LIVE_UNDER-}
use_rpma()
{
	rpma=$1
	if [[ -n $under ]]; then
		rpma=$TMP/under.${1##*/}
		printf '#!/bin/sh\nexec %q %q "$@"\n' "$under" "$1" >"$rpma"
		chmod +x "$rpma"
	fi
}
use_rpma "$BUILD/reactor/tools/rpma"
live=$BUILD/tests/live
lib_started=()
serve_pid=

# once_in_guests - what is long there, and about no kernel: sanitized it runs on the software device only
once_in_guests()
{
	if [[ $BUILD == */asan && -z $under ]]; then
		echo "sanitized on the software device, and in a guest as it is: that is enough"
		exit 77
	fi
}

fail()
{
	echo "FAILED: $*"
	exit 1
}

lib_end()
{
	local pid
	for pid in ${lib_started[0]+"${lib_started[@]}"}; do
		kill -9 "$pid" 2>/dev/null || true
	done
	wait 2>/dev/null || true
}
trap lib_end EXIT

# wait_line FILE REGEX PID - until FILE has such a line; fails when PID is gone before that
wait_line()
{
	local i
	for (( i = 0; i < 1200; i++ )); do
		if grep -aqE "$2" "$1" 2>/dev/null; then
			return 0
		fi
		kill -0 "$3" 2>/dev/null || { cat "$1"; fail "process $3 ended before: $2"; }
		read -rt 0.05 <> <(:) || true
	done
	cat "$1"
	fail "no line in a minute: $2"
}

# start_serve ARG... - rpma serve in the background, until it listens; sets serve_pid, serve_log
start_serve()
{
	serve_log=$TMP/serve.$(( ${#lib_started[@]} )).log
	"$rpma" serve "$@" >"$serve_log" 2>&1 &
	serve_pid=$!
	lib_started+=("$serve_pid")
	wait_line "$serve_log" '^listening on ' "$serve_pid"
}

# stop_serve - in good order; it must exit 0
stop_serve()
{
	local status=0
	kill -TERM "$serve_pid"
	wait "$serve_pid" || status=$?
	(( status == 0 )) || { cat "$serve_log"; fail "serve ended with status $status"; }
}

# random_file FILE SIZE_MIB
random_file()
{
	openssl enc -aes-128-ctr -pass pass:rpma -nosalt -pbkdf2 </dev/zero 2>/dev/null |
		head -c "$(( $2 << 20 ))" >"$1" || true
	(( $(stat -c %s "$1") == $2 << 20 )) || fail "could not make $1"
}

# big_file FILE - some random bytes, and zeros up to $big bytes
big=$(( 128 << 20 ))
big_file()
{
	random_file "$1" 24
	truncate -s "$big" "$1"
}

# one_line FILE - a message for people is one line
one_line()
{
	(( $(wc -l <"$1") == 1 )) || { cat "$1"; fail "not one line but $(wc -l <"$1")"; }
}

# expect STATUS REGEX ARGUMENT... - rpma ends with that status, and with one line on stderr that has such
# words, or with none when REGEX is empty; `unexpected` counts those that do otherwise
unexpected=0
expect()
{
	local want=$1 regex=$2 status=0
	shift 2
	timeout 20 "$rpma" "$@" >"$TMP/out" 2>"$TMP/errors" </dev/null || status=$?
	if (( status == want )) && { [[ -z $regex && ! -s $TMP/errors ]] ||
		{ [[ -n $regex ]] && (( $(wc -l <"$TMP/errors") == 1 )) && grep -qiE "$regex" "$TMP/errors"; }; }; then
		echo "$status ${RPMA_FAULTY:+[$RPMA_FAULTY] }$(<"$TMP/errors")"
		return
	fi
	echo "${RPMA_FAULTY:+[$RPMA_FAULTY] }rpma $*: status $status (want $want), want /$regex/:"
	cat "$TMP/errors"
	unexpected=$(( unexpected + 1 ))
}

# options that make a pull slow; what is to be met in the middle also needs a big file, and to be met
# early, so that most of it is still to come however fast the machine is
slow=(--chunk 16K --depth 1)
if [[ -n $under ]]; then
	slow=(--chunk 4K --depth 1) # no emulator slows it down
fi

# pull_until PERCENT ARG... - a slow pull in the background, on a terminal, whose bar tells how far it is;
# back when that much has come. Its standard output goes to $TMP/report.
pull_until()
{
	local percent=$1 command
	shift
	printf -v command '%q ' "$rpma" pull "${slow[@]}" "$@"
	: >"$TMP/screen"
	script -qefc "exec $command >'$TMP/report'" "$TMP/screen" </dev/null >/dev/null &
	pull_script=$!
	lib_started+=("$pull_script")
	until pull_at=$(tr '\r' '\n' <"$TMP/screen" | grep -oE '[0-9]+%' | tail -n 1 | tr -d %) &&
		[[ -n $pull_at ]] && (( pull_at >= percent )); do
		kill -0 "$pull_script" || { cat "$TMP/screen"; fail "pull ended early"; }
		read -rt 0.02 <> <(:) || true
	done
}

# pull_ended - wait for it: its status; what it said on the terminal besides the bar is in $TMP/errors
pull_ended()
{
	local status=0
	wait "$pull_script" || status=$?
	tr '\r' '\n' <"$TMP/screen" | sed 's/\x1b\[[0-9;?]*[A-Za-z]//g' | grep '^rpma: ' >"$TMP/errors" || true
	cat "$TMP/errors"
	return "$status"
}
