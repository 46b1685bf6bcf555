# What these tests share; sourced by each. Environment, besides that of tests/live/run.sh:
#
#   FOLDER   a Debian 13, see folder.sh and mount.sh
#   NATIVE   the project's build in there
#   PMEM     persistent memory
. "$(dirname "${BASH_SOURCE[0]}")/../../live/lib.sh"

commit=$NATIVE/tests/live/helpers/commit

# who takes part: ours with native operations, the same told not to use them, ours built for a system that has
# none, and the other implementation, which has them
# shellcheck disable=SC2034
{
	native=(chroot "$FOLDER" "$commit")
	obeying=(env RPMA_NATIVE=0 "${native[@]}")
	plain=("$BUILD/tests/live/helpers/commit")
	their_library=$(dirname "$(cd "$FOLDER" && echo /usr/lib/*/librpma.so.0)")
	theirs=(chroot "$FOLDER" env "LD_LIBRARY_PATH=$their_library" "$commit")
}
port=7400
head -c 1000001 /dev/urandom >"$TMP/data"

# try SERVER CLIENT MEDIUM USAGE TYPE - CLIENT stores and flushes by TYPE what SERVER has registered for
# USAGE; sets $status and leaves the client's words in $TMP/store
try()
{
	local -n server=$1 client=$2
	local serve
	port=$(( port + 1 ))
	"${server[@]}" serve "$port" "$3" "$4" >"$TMP/serve" 2>&1 &
	serve=$!
	lib_started+=("$serve")
	wait_line "$TMP/serve" '^listening' "$serve"
	status=0
	timeout 20 "${client[@]}" store "$port" "$TMP/data" "$5" >"$TMP/store" 2>&1 || status=$?
	if (( status == 0 )); then
		wait "$serve" || { cat "$TMP/serve"; fail "the server's status is $?"; }
	else
		kill "$serve" 2>/dev/null || true
		wait "$serve" || true
	fi
}

# by OPERATIONS SERVER CLIENT MEDIUM USAGE TYPE - it must be done, by these operations
by()
{
	local operations=$1
	shift
	try "$@"
	(( status == 0 )) && grep -qx "committed: $operations" "$TMP/store" ||
		{ cat "$TMP/store"; fail "$*: status $status; not by $operations"; }
	echo "$*: by $operations"
}
