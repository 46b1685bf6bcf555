/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* control.c: messages: what goes in comes out, and nothing else gets through */

#include <stdlib.h>

#include "control.h"
#include "test.h"

static struct control_message an_ask(void)
{
	struct control_message m = { .type = CONTROL_ASK };
	m.ask.digest = true;
	m.ask.offset = UINT64_C(0x1122334455667788);
	m.ask.length = 4096;
	strcpy(m.ask.name, "disk");
	return m;
}

static struct control_message a_region(void)
{
	struct control_message m = { .type = CONTROL_REGION };
	m.region.size = 1 << 20;
	m.region.offset = 4096;
	m.region.length = 8192;
	memset(m.region.identity, 0xa5, sizeof(m.region.identity));
	m.region.descriptor_len = 21;
	memset(m.region.descriptor, 0x5a, 21);
	return m;
}

static struct control_message a_digest(void)
{
	struct control_message m = { .type = CONTROL_DIGEST };
	m.digest.offset = 1;
	m.digest.length = 2;
	memset(m.digest.sha256, 0x33, sizeof(m.digest.sha256));
	return m;
}

static struct control_message a_refusal(void)
{
	struct control_message m = { .type = CONTROL_REFUSAL };
	control_refuse(&m.refusal, CONTROL_CODE_RANGE, "outside");
	return m;
}

static struct control_message (*const makers[])(void) = { an_ask, a_region, a_digest, a_refusal };

static void put(uint8_t *at, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (uint8_t)(value >> (8 * i));
}

static void message__round_trip(void **state)
{
	(void)state;
	uint8_t buf[CONTROL_MESSAGE_MAX];
	struct control_message out = an_ask(), in;

	assert_int_equal(control_decode(&in, buf, control_encode(&out, buf)), 0);
	assert_int_equal(in.type, CONTROL_ASK);
	assert_true(in.ask.digest);
	assert_int_equal(in.ask.offset, out.ask.offset);
	assert_int_equal(in.ask.length, out.ask.length);
	assert_string_equal(in.ask.name, "disk");

	out = a_region();
	assert_int_equal(control_decode(&in, buf, control_encode(&out, buf)), 0);
	assert_int_equal(in.type, CONTROL_REGION);
	assert_int_equal(in.region.size, out.region.size);
	assert_int_equal(in.region.offset, out.region.offset);
	assert_int_equal(in.region.length, out.region.length);
	assert_memory_equal(in.region.identity, out.region.identity, CONTROL_IDENTITY_BYTES);
	assert_int_equal(in.region.descriptor_len, 21);
	assert_memory_equal(in.region.descriptor, out.region.descriptor, 21);

	out = a_digest();
	assert_int_equal(control_decode(&in, buf, control_encode(&out, buf)), 0);
	assert_int_equal(in.type, CONTROL_DIGEST);
	assert_int_equal(in.digest.offset, 1);
	assert_int_equal(in.digest.length, 2);
	assert_memory_equal(in.digest.sha256, out.digest.sha256, CONTROL_DIGEST_BYTES);

	out = a_refusal();
	assert_int_equal(control_decode(&in, buf, control_encode(&out, buf)), 0);
	assert_int_equal(in.type, CONTROL_REFUSAL);
	assert_int_equal(in.refusal.code, CONTROL_CODE_RANGE);
	assert_string_equal(in.refusal.text, "outside");
}

/* the bytes are the contract between two builds: this is how an ask looks */
static void message__layout(void **state)
{
	(void)state;
	static const uint8_t wire[] = { 'r', 'p', 'm', 'a', '.', 'u', 'v', 0x1a, 1, 0, 1, 0, 46, 0,
		0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0, 16,
		0, 0, 0, 0, 0, 0, 4, 0, 'd', 'i', 's', 'k' };
	uint8_t buf[CONTROL_MESSAGE_MAX];
	struct control_message out = an_ask();

	assert_int_equal(control_encode(&out, buf), sizeof(wire));
	assert_memory_equal(buf, wire, sizeof(wire));
}

static void message__longest(void **state)
{
	(void)state;
	uint8_t buf[CONTROL_MESSAGE_MAX];
	struct control_message out = an_ask(), in;

	memset(out.ask.name, 'n', CONTROL_NAME_MAX);
	out.ask.name[CONTROL_NAME_MAX] = '\0';
	assert_int_equal(control_decode(&in, buf, control_encode(&out, buf)), 0);
	assert_int_equal(strlen(in.ask.name), CONTROL_NAME_MAX);

	out = a_region();
	out.region.descriptor_len = CONTROL_DESCRIPTOR_MAX;
	assert_int_equal(control_decode(&in, buf, control_encode(&out, buf)), 0);

	out = a_refusal();
	control_refuse(&out.refusal, CONTROL_CODE_RANGE, "%0*d", 500, 0);
	assert_int_equal(control_decode(&in, buf, control_encode(&out, buf)), 0);
	assert_int_equal(strlen(in.refusal.text), CONTROL_TEXT_MAX);
}

static void message__cut_off_anywhere(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(makers); i++) {
		uint8_t buf[CONTROL_MESSAGE_MAX];
		struct control_message out = makers[i](), in;
		size_t len = control_encode(&out, buf);

		for (size_t cut = 0; cut < len; cut++) {
			assert_int_equal(control_decode(&in, buf, cut),
				cut < 8 ? CONTROL_FOREIGN : CONTROL_LENGTH);
			/* even when the message's own length says that this is all of it */
			if (cut < 16)
				continue;
			uint8_t lying[CONTROL_MESSAGE_MAX];
			memcpy(lying, buf, sizeof(lying));
			put(lying + 12, cut, 4);
			assert_int_equal(control_decode(&in, lying, cut), CONTROL_LENGTH);
		}
	}
}

static void message__too_long(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(makers); i++) {
		uint8_t buf[CONTROL_MESSAGE_MAX + 1] = { 0 };
		struct control_message out = makers[i](), in;
		size_t len = control_encode(&out, buf);

		/* something behind it, owned up to or not */
		assert_int_equal(control_decode(&in, buf, len + 1), CONTROL_LENGTH);
		put(buf + 12, len + 1, 4);
		assert_int_equal(control_decode(&in, buf, len + 1), CONTROL_LENGTH);
		put(buf + 12, sizeof(buf), 4);
		assert_int_equal(control_decode(&in, buf, sizeof(buf)), CONTROL_LENGTH);
		put(buf + 12, UINT32_MAX, 4);
		assert_int_equal(control_decode(&in, buf, len), CONTROL_LENGTH);
	}
}

struct wrong {
	size_t at;
	uint64_t value;
	unsigned bytes;
	int error;
};

static void refuse_all(struct control_message (*maker)(void), const struct wrong *all, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint8_t buf[CONTROL_MESSAGE_MAX];
		struct control_message out = maker(), in;
		size_t len = control_encode(&out, buf);

		put(buf + all[i].at, all[i].value, all[i].bytes);
		assert_int_equal(control_decode(&in, buf, len), all[i].error);
	}
}

static void message__wrong_head(void **state)
{
	(void)state;
	static const struct wrong all[] = {
		{ 0, 'R', 1, CONTROL_FOREIGN },
		{ 7, 0, 1, CONTROL_FOREIGN },
		{ 8, 0, 2, CONTROL_UNSPOKEN },
		{ 8, CONTROL_VERSION + 1, 2, CONTROL_UNSPOKEN },
		{ 8, 0xffff, 2, CONTROL_UNSPOKEN },
		{ 10, 0, 2, CONTROL_TYPE },
		{ 10, 5, 2, CONTROL_TYPE },
		{ 10, 0xffff, 2, CONTROL_TYPE },
		{ 12, 0, 4, CONTROL_LENGTH },
	};

	for (size_t i = 0; i < COUNT(makers); i++)
		refuse_all(makers[i], all, COUNT(all));
}

static void message__wrong_ask(void **state)
{
	(void)state;
	static const struct wrong all[] = {
		{ 16, 2, 4, CONTROL_VALUE }, /* a flag that does not exist */
		{ 16, 0x80000001, 4, CONTROL_VALUE }, { 20, 1, 4, CONTROL_VALUE }, /* reserved */
		{ 32, UINT64_MAX, 8, CONTROL_VALUE }, /* offset + length overflows */
		{ 40, 0, 2, CONTROL_LENGTH }, /* a name shorter than what is there */
		{ 40, 5, 2, CONTROL_LENGTH }, /* longer */
		{ 40, 0xffff, 2, CONTROL_LENGTH }, { 42, '\n', 1, CONTROL_VALUE },
		{ 43, 0, 1, CONTROL_VALUE }, /* a name that ends early */
	};

	refuse_all(an_ask, all, COUNT(all));
}

static void message__wrong_region(void **state)
{
	(void)state;
	static const struct wrong all[] = {
		{ 16, 0, 8, CONTROL_VALUE }, /* an empty region */
		{ 16, 4096 + 8191, 8, CONTROL_VALUE }, /* one that ends inside the range */
		{ 24, 1 << 20, 8, CONTROL_VALUE }, /* a range behind it */
		{ 24, UINT64_MAX, 8, CONTROL_VALUE },
		{ 32, 0, 8, CONTROL_VALUE },
		{ 32, UINT64_MAX, 8, CONTROL_VALUE }, /* offset + length overflows */
		{ 72, 0, 2, CONTROL_VALUE }, /* no descriptor */
		{ 72, 20, 2, CONTROL_LENGTH },
		{ 72, 22, 2, CONTROL_LENGTH },
		{ 72, CONTROL_DESCRIPTOR_MAX + 1, 2, CONTROL_LENGTH },
		{ 72, 0xffff, 2, CONTROL_LENGTH },
	};

	refuse_all(a_region, all, COUNT(all));
}

static void message__wrong_refusal(void **state)
{
	(void)state;
	static const struct wrong all[] = {
		{ 16, 0, 2, CONTROL_VALUE }, /* a refusal that is none */
		{ 18, 6, 2, CONTROL_LENGTH },
		{ 18, 8, 2, CONTROL_LENGTH },
		{ 18, CONTROL_TEXT_MAX + 1, 2, CONTROL_LENGTH },
		{ 18, 0xffff, 2, CONTROL_LENGTH },
		{ 20, '\x1b', 1, CONTROL_VALUE },
		{ 20, 0x9b, 1, CONTROL_VALUE },
	};

	refuse_all(a_refusal, all, COUNT(all));
}

/* any bytes at all: no harm, and whatever gets through is within its bounds */
static void message__noise(void **state)
{
	(void)state;
	unsigned seed = 7204;

	for (int round = 0; round < 200000; round++) {
		uint8_t buf[CONTROL_MESSAGE_MAX];
		struct control_message out = makers[round % (int)COUNT(makers)](), in;
		size_t len = control_encode(&out, buf);
		int flips = rand_r(&seed) % 4;

		for (int i = 0; i < flips; i++)
			buf[8 + (size_t)rand_r(&seed) % (len - 8)] = (uint8_t)rand_r(&seed);
		/* a heap block of the very length, so that a sanitizer sees each byte beyond */
		uint8_t *exact = malloc(len);
		assert_non_null(exact);
		memcpy(exact, buf, len);
		if (control_decode(&in, exact, len) == 0 && in.type == CONTROL_REGION) {
			assert_in_range(in.region.descriptor_len, 1, CONTROL_DESCRIPTOR_MAX);
			assert_true(in.region.offset < in.region.size);
			assert_true(in.region.length <= in.region.size - in.region.offset);
		}
		free(exact);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(message__round_trip),
		cmocka_unit_test(message__layout),
		cmocka_unit_test(message__longest),
		cmocka_unit_test(message__cut_off_anywhere),
		cmocka_unit_test(message__too_long),
		cmocka_unit_test(message__wrong_head),
		cmocka_unit_test(message__wrong_ask),
		cmocka_unit_test(message__wrong_region),
		cmocka_unit_test(message__wrong_refusal),
		cmocka_unit_test(message__noise),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
