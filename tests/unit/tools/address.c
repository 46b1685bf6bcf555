/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* address.c: every form of an address, and one line about each that is none */

#include <stdio.h>

#include "address.h"
#include "test.h"

static void parse__addresses(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		struct address address;
	} good[] = {
		{ "10.9.9.1:7204", { "10.9.9.1", "7204", "" } },
		{ "storage-1.example:1", { "storage-1.example", "1", "" } },
		{ "h:0", { "h", "0", "" } },
		{ "h:65535", { "h", "65535", "" } },
		{ "[::1]:7204", { "::1", "7204", "" } },
		{ "[fe80::1%eth0]:7204", { "fe80::1%eth0", "7204", "" } },
		{ "[10.9.9.1]:7204", { "10.9.9.1", "7204", "" } },
		{ "h:1/", { "h", "1", "" } },
		{ "h:1/disk", { "h", "1", "disk" } },
		{ "[::1]:1/a/b:c", { "::1", "1", "a/b:c" } },
	};

	for (size_t i = 0; i < COUNT(good); i++) {
		struct address address;
		assert_null(address_parse(good[i].text, &address));
		assert_string_equal(address.host, good[i].address.host);
		assert_string_equal(address.port, good[i].address.port);
		assert_string_equal(address.region, good[i].address.region);
	}
}

static void parse__not_addresses(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"",
		":",
		":7204",
		"h",
		"h:",
		"h/disk",
		"h:/disk",
		"h:65536",
		"h:99999",
		"h:000001",
		"h:-1",
		"h:+1",
		"h: 1",
		"h:http",
		"h:1:2",
		"::1",
		"::1:7204",
		"fe80::1:7204",
		"[]:1",
		"[::1",
		"[::1]",
		"[::1]7204",
		"[::1]:",
		"[::1]:x",
		"h:1/a\nb",
		"h:1/\xc3\xa4",
		"h:1/a\x7f",
	};

	for (size_t i = 0; i < COUNT(bad); i++) {
		struct address address = { "untouched", "", "" };
		assert_non_null(address_parse(bad[i], &address));
		assert_string_equal(address.host, "untouched");
	}
}

static void parse__too_long(void **state)
{
	(void)state;
	struct address address;
	char text[ADDRESS_HOST_MAX + ADDRESS_REGION_MAX + 32];

	memset(text, 'h', sizeof(text));
	strcpy(text + ADDRESS_HOST_MAX, ":1");
	assert_null(address_parse(text, &address));
	assert_int_equal(strlen(address.host), ADDRESS_HOST_MAX);

	memset(text, 'h', sizeof(text));
	strcpy(text + ADDRESS_HOST_MAX + 1, ":1");
	assert_non_null(address_parse(text, &address));

	memset(text, 'r', sizeof(text));
	memcpy(text, "h:1/", 4);
	text[4 + ADDRESS_REGION_MAX] = '\0';
	assert_null(address_parse(text, &address));
	assert_int_equal(strlen(address.region), ADDRESS_REGION_MAX);

	text[4 + ADDRESS_REGION_MAX] = 'r';
	text[5 + ADDRESS_REGION_MAX] = '\0';
	assert_non_null(address_parse(text, &address));
}

static void format__what_parse_takes(void **state)
{
	(void)state;
	char text[ADDRESS_TEXT];

	assert_string_equal(address_format("10.9.9.1", 7204, text), "10.9.9.1:7204");
	assert_string_equal(address_format("::1", 7204, text), "[::1]:7204");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse__addresses),
		cmocka_unit_test(parse__not_addresses),
		cmocka_unit_test(parse__too_long),
		cmocka_unit_test(format__what_parse_takes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
