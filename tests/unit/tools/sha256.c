/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* sha256.c: known digests, and pieces that make a whole */

#include "sha256.h"
#include "test.h"

static const char *digest_of(const char *data, size_t piece, char text[SHA256_TEXT])
{
	uint8_t digest[SHA256_BYTES];
	struct sha256 *sha = sha256_new();
	size_t len = strlen(data);

	assert_non_null(sha);
	for (size_t at = 0; at < len; at += piece)
		assert_int_equal(
			sha256_add(sha, data + at, len - at < piece ? len - at : piece), 0);
	assert_int_equal(sha256_end(sha, digest), 0);
	sha256_delete(sha);
	return sha256_format(digest, text);
}

static void digest__known_answers(void **state)
{
	(void)state;
	char text[SHA256_TEXT];

	assert_string_equal(digest_of("", 1, text),
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	assert_string_equal(digest_of("abc", 3, text),
		"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void digest__pieces(void **state)
{
	(void)state;
	static const char data[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
	char text[SHA256_TEXT];

	for (size_t piece = 1; piece < sizeof(data); piece++)
		assert_string_equal(digest_of(data, piece, text),
			"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

static void delete__null(void **state)
{
	(void)state;
	sha256_delete(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digest__known_answers),
		cmocka_unit_test(digest__pieces),
		cmocka_unit_test(delete__null),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
