#!/bin/bash
# A full disk ends pull with a line that tells the offset, and status 4; the server serves the next one.
# Once where space is reserved beforehand (ext4), once where it runs out in the middle (ext2 cannot).
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

if [[ -z ${NVME1-} ]]; then
	echo "no NVME1: no small disk to fill"
	exit 77
fi
disk=$(findmnt -no SOURCE "$NVME1")
start_serve --memory 64M --listen "$ADDR:7314"

full()
{
	local status=0
	"$rpma" pull --json "$ADDR:7314" "$1" >"$TMP/report" 2>"$TMP/errors" || status=$?
	cat "$TMP/errors"
	(( status == 4 )) || fail "status $status, not 4"
	one_line "$TMP/errors"
	grep -qE 'offset [0-9]+' "$TMP/errors" || fail "the line does not say where"
	grep -qi 'no space left' "$TMP/errors" || fail "the line does not say why"
	[[ ! -e $1 ]] || fail "a half file has the name of a whole one"
	rm -f "$1.part"
}

full "$NVME1/full"
umount "$NVME1"
mkfs.ext2 -q -F "$disk"
mount -t ext4 "$disk" "$NVME1"
full "$NVME1/full"
umount "$NVME1"
mkfs.ext4 -q -F "$disk"
mount "$disk" "$NVME1"

"$rpma" pull --verify --quiet "$ADDR:7314" "$NVME/after"
rm "$NVME/after"
stop_serve
