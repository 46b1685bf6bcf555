/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * exits.h - what the program's exit status says, and the one line that goes with it
 */

#ifndef RPMA_TOOLS_EXITS_H
#define RPMA_TOOLS_EXITS_H

enum exit_code {
	EXIT_DONE = 0,
	EXIT_USAGE = 1, /* the command line */
	EXIT_CONNECT = 2, /* no such host, device or route; refused, silent; cannot listen */
	EXIT_REFUSED = 3, /* the other side speaks something else, or turned us down */
	EXIT_STORAGE = 4, /* a local file: unreadable, unwritable, disk full */
	EXIT_REMOTE = 5, /* the connection was lost, or a remote read failed */
	EXIT_MISMATCH = 6, /* the bytes differ from the source's */
	EXIT_RESOURCES = 7, /* memory, locked memory, descriptors */
	EXIT_INTERRUPTED = 130, /* SIGINT or SIGTERM */
};

#define EXIT_HELP                                                                               \
	"Exit status:\n"                                                                        \
	"  0    done\n"                                                                         \
	"  1    wrong usage\n"                                                                  \
	"  2    cannot resolve, reach, connect or listen\n"                                     \
	"  3    turned down: not an rpma server, another version, a range outside the region\n" \
	"  4    local file: unreadable, unwritable, disk full\n"                                \
	"  5    connection lost, or a remote read failed\n"                                     \
	"  6    verification: the bytes differ from the source's\n"                             \
	"  7    out of memory, locked memory or descriptors\n"                                  \
	"  130  interrupted\n"

/* one line on stderr, "rpma: " and the text; returns code, so that it can be returned on */
int fail(enum exit_code code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * A status, UV_E* or any other negative errno, in words, and its name. libuv does not know all that a
 * kernel says, such as EDQUOT. Valid until the next call; the loop's thread only.
 */
const char *reason(int status);
const char *reason_name(int status);

#endif /* RPMA_TOOLS_EXITS_H */
