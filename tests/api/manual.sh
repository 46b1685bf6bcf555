#!/bin/bash
# manual.sh DIRECTORY... - pages read well: neither mandoc nor groff has anything to say about them
#
# A directory has pages, or man3 and man7 with pages.
set -euo pipefail
export LC_ALL=C.UTF-8 MANWIDTH=80

mandoc=$(command -v mandoc) || echo "mandoc is missing: half of the test is left out"
man=$(command -v man) || echo "man is missing: half of the test is left out"
if [[ -z $mandoc && -z $man ]]; then
	echo "skipped: neither is here"
	exit 77
fi

# what mandoc says about pages; those of others need not be installed, ours are all here
lint()
{
	MANPATH=$tmp:/usr/share/man "$mandoc" -T lint -W style "$@" 2>/dev/null |
		grep -vE 'referenced manual not found: Xr ([^lrs]|r[^p]|l[^i]|s[^o])|\.so is fragile' || true
}

# what groff says
said()
{
	"$man" --warnings -E UTF-8 -Tutf8 -Z -l "$@" 2>&1 >/dev/null
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp"/man{1,3,7}
shopt -s nullglob
for directory in "$@"; do
	for page in "$directory"/*.[137] "$directory"/man[37]/*; do
		cp "$page" "$tmp/man${page##*.}/"
	done
done
cd "$tmp"
pages=(man*/*)
(( ${#pages[@]} > 0 )) || { echo "no pages in $*" >&2; exit 1; }

failed=0
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
echo "${#pages[@]} pages"
exit $failed
