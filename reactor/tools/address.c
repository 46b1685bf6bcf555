/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * address.c - addresses of the command line
 */

#include <stdio.h>
#include <string.h>

#include "address.h"

/* the host part; *text moves behind it, to the colon of the port */
static const char *parse_host(const char **text, struct address *address)
{
	const char *host = *text;
	const char *end;

	if (*host == '[') {
		host++;
		end = strchr(host, ']');
		if (!end)
			return "the bracket is not closed";
		*text = end + 1;
	} else {
		end = host + strcspn(host, ":/");
		*text = end;
	}
	if (end == host)
		return "the host is missing";
	if ((size_t)(end - host) > ADDRESS_HOST_MAX)
		return "the host is too long";

	memcpy(address->host, host, (size_t)(end - host));
	return NULL;
}

static const char *parse_port(const char **text, struct address *address)
{
	if (**text != ':')
		return "the port is missing (HOST:PORT)";
	const char *port = *text + 1;
	size_t len = strcspn(port, "/");
	if (memchr(port, ':', len))
		return "an IPv6 address needs brackets ([ADDRESS]:PORT)";
	if (len == 0)
		return "the port is missing (HOST:PORT)";
	if (strspn(port, "0123456789") != len || len > 5)
		return "the port is not a number from 0 to 65535";

	unsigned value = 0;
	for (size_t i = 0; i < len; i++)
		value = value * 10 + (unsigned)(port[i] - '0');
	if (value > 65535)
		return "the port is not a number from 0 to 65535";

	memcpy(address->port, port, len);
	*text = port + len;
	return NULL;
}

const char *address_parse(const char *text, struct address *address)
{
	struct address parsed = { 0 };
	const char *wrong = parse_host(&text, &parsed);
	if (wrong)
		return wrong;
	wrong = parse_port(&text, &parsed);
	if (wrong)
		return wrong;

	if (*text == '/') {
		size_t len = strlen(++text);
		if (len > ADDRESS_REGION_MAX)
			return "the name of the region is too long";
		for (size_t i = 0; i < len; i++) {
			if (text[i] < ' ' || text[i] > '~')
				return "the name of the region is not printable ASCII";
		}
		memcpy(parsed.region, text, len);
	}
	*address = parsed;
	return NULL;
}

const char *address_format(const char *host, unsigned port, char text[ADDRESS_TEXT])
{
	const char *format = strchr(host, ':') ? "[%.*s]:%u" : "%.*s:%u";
	(void)snprintf(text, ADDRESS_TEXT, format, ADDRESS_HOST_MAX, host, port);
	return text;
}
