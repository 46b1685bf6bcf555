#!/bin/bash
# Runs the tests in the directory live, in a guest of tests/vm; BUILD is the project's build there.
#
#   tests/native/live.sh BUILD [NAME...]
#
# Ends with "live: N passed, N failed, N skipped".
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
"$here/mount.sh" "$FOLDER"
exec "$here/../live/run.sh" --scripts "$here/live" "$@"
