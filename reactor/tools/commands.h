/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * commands.h - the commands of the program
 *
 * Each gets its own arguments, with "rpma COMMAND" as argv[0], and returns the exit status after it
 * has printed whatever there is to say.
 */

#ifndef RPMA_TOOLS_COMMANDS_H
#define RPMA_TOOLS_COMMANDS_H

int serve_main(int argc, char *argv[]);
int pull_main(int argc, char *argv[]);

#endif /* RPMA_TOOLS_COMMANDS_H */
