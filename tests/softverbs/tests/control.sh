#!/bin/sh
# control.sh SOFTVERBS-RUN PROGRAM - orders reach the program through SOFTVERBS_CONTROL
#
# The program waits for an answer that is withheld; a line that is written to the FIFO releases it.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
SOFTVERBS_CONTROL=$dir/%p SOFTVERBS_FAULTS=withhold=resolver
export SOFTVERBS_CONTROL SOFTVERBS_FAULTS

# exec, so that the number is the program's; only what it becomes is preloaded
"$1" "$2" controlled >"$dir/out" &
pid=$!
i=0
while ! grep -q withheld "$dir/out"; do
	i=$((i + 1))
	[ $i -lt 200 ] || { echo "the program does not wait"; exit 1; }
	sleep 0.05
done
[ -p "$dir/$pid" ]
echo "release resolver" >"$dir/$pid"
wait $pid
[ ! -e "$dir/$pid" ] # it takes the FIFO away
