#!/bin/bash
# The program calls every function that the library exports.
#
#   all_functions.sh PROGRAM SYMBOLS
#
# SYMBOLS is the list of them.
set -euo pipefail

missing=$(comm -13 \
	<(nm --undefined-only "$1" | grep -oE '\brpma_[a-z0-9_]+' | sort -u) \
	<(sed -n 's/^T \(.*\)@@LIBRPMA_1\.0$/\1/p' "$2" | sort -u))
if [[ -n $missing ]]; then
	echo "not called:" $missing
	exit 1
fi
