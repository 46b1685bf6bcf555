#!/bin/bash
# manual.sh DIRECTORY... - pages read well: neither mandoc nor groff has anything to say about them
#
# A directory has man3 and man7 in it, or pages.
set -euo pipefail
export LC_ALL=C.UTF-8 MANWIDTH=80

mandoc=$(command -v mandoc) || echo "mandoc is missing: half of the test is left out"
man=$(command -v man) || echo "man is missing: half of the test is left out"
if [[ -z $mandoc && -z $man ]]; then
	echo "skipped: neither is here"
	exit 77
fi
failed=0 count=0
path=$(IFS=:; echo "$*"):/usr/share/man

# what mandoc says about pages; those of others need not be installed, ours are all there
lint()
{
	MANPATH=$path "$mandoc" -T lint -W style "$@" 2>/dev/null |
		grep -vE 'referenced manual not found: Xr ([^lrs]|r[^p]|l[^i]|s[^o])|\.so is fragile' || true
}

# what groff says
said()
{
	"$man" --warnings -E UTF-8 -Tutf8 -Z -l "$@" 2>&1 >/dev/null
}

for directory in "$@"; do
	cd "$directory"
	shopt -s nullglob
	pages=(man[37]/*.[37] *.[17])
	count=$(( count + ${#pages[@]} ))
	if [[ -n $mandoc && -n $(lint "${pages[@]}") ]]; then
		lint "${pages[@]}"
		failed=1
	fi
	# all at once is quick, one by one tells which
	if [[ -n $man && -n $(said "${pages[@]}") ]]; then
		for page in "${pages[@]}"; do
			said "$page" | sed "s|^|$page: |"
		done
		failed=1
	fi
done
(( count > 0 )) || { echo "no pages in $*" >&2; exit 1; }
echo "$count pages"
exit $failed
