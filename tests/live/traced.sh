#!/bin/bash
# One thread does the work: no system call of any thread touches the file's bytes outside io_uring. (That
# no other task runs meanwhile is the program one_thread's part.)
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

if [[ $BUILD == */asan || $BUILD == */tsan ]]; then
	echo "strace and the leak sanitizer both want to be the tracer"
	exit 77
fi
start_serve --memory 8M --listen "$ADDR:7311"
strace -f -y -o "$TMP/trace" "$rpma" pull --quiet "$ADDR:7311" "$NVME/traced"
grep -q io_uring_enter "$TMP/trace" || fail "no io_uring_enter in the trace"
if grep -E '(read|write|pread64|pwrite64|readv|writev|preadv2?|pwritev2?|fsync|fdatasync|sync_file_range|sendfile|copy_file_range|splice|mmap)\([^)]*traced(\.part)?>' "$TMP/trace"; then
	fail "the lines above touch the file outside io_uring"
fi
# the witness can see: it does show calls on descriptors by name
grep -qE '\([0-9]+<[^>]*>' "$TMP/trace" || fail "the trace does not name descriptors"
(( $(stat -c %s "$NVME/traced") == 8 << 20 )) || fail "not all of it"
stop_serve
