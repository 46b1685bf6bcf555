#!/bin/bash
# Prints the URL of the Debian mirror that this machine takes its packages from; RPMA_MIRROR names another.
set -euo pipefail

if [[ ${RPMA_MIRROR-} ]]; then
	echo "$RPMA_MIRROR"
	exit 0
fi
# security updates have an address of their own, and are no mirror of the rest
url=$(apt-get indextargets --format '$(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
	sed -n 's|^main \(.*/debian\)/*$|\1|p' | head -n 1)
if [[ -z $url ]]; then
	echo "mirror: no Debian mirror among this machine's package sources; set RPMA_MIRROR" >&2
	exit 1
fi
echo "$url"
