/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * address.h - "HOST:PORT", "[IPV6]:PORT", and "/REGION" behind them
 */

#ifndef RPMA_TOOLS_ADDRESS_H
#define RPMA_TOOLS_ADDRESS_H

#define ADDRESS_HOST_MAX   255
#define ADDRESS_REGION_MAX 63

struct address {
	char host[ADDRESS_HOST_MAX + 1]; /* without brackets */
	char port[6];
	char region[ADDRESS_REGION_MAX + 1]; /* empty: not given */
};

/*
 * Takes an address apart; nothing is resolved. The port is a number from 0 to 65535.
 * NULL, or what is wrong with it, for people; *address is untouched then.
 */
const char *address_parse(const char *text, struct address *address);

/* room for any address_format() */
#define ADDRESS_TEXT (ADDRESS_HOST_MAX + 10)

/* HOST:PORT, with brackets where the host has a colon; returns text */
const char *address_format(const char *host, unsigned port, char text[ADDRESS_TEXT]);

#endif /* RPMA_TOOLS_ADDRESS_H */
