/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* control.c: greetings, as they arrive in private data: padded with zeros, or from a stranger */

#include "control.h"
#include "test.h"

/* bytes of the field on InfiniBand and RoCE */
#define REQUEST_FIELD   56
#define WELCOME_FIELD   196
#define REJECTION_FIELD 148

/* a greeting in its field */
static size_t encode(const struct control_greeting *greeting, uint8_t field[256])
{
	memset(field, 0, 256);
	return control_greeting_encode(greeting, field);
}

static void greeting__fits_its_field(void **state)
{
	(void)state;
	uint8_t field[256];
	struct control_greeting greeting = { .kind = CONTROL_REQUEST };

	assert_in_range(encode(&greeting, field), 1, REQUEST_FIELD);
	greeting.kind = CONTROL_TURNED_DOWN;
	control_refuse(&greeting.refusal, CONTROL_CODE_FULL, "%0*d", 500, 0);
	assert_int_equal(strlen(greeting.refusal.text), CONTROL_TEXT_MAX);
	assert_in_range(encode(&greeting, field), 1, REJECTION_FIELD);
}

static void greeting__round_trip(void **state)
{
	(void)state;
	static const struct {
		enum control_kind kind;
		size_t field;
	} all[] = {
		{ CONTROL_REQUEST, REQUEST_FIELD },
		{ CONTROL_WELCOME, WELCOME_FIELD },
		{ CONTROL_TURNED_DOWN, REJECTION_FIELD },
	};

	for (size_t i = 0; i < COUNT(all); i++) {
		uint8_t field[256];
		struct control_greeting out = { .kind = all[i].kind }, in;
		control_refuse(&out.refusal, CONTROL_CODE_FULL, "full: %d", 7);
		size_t len = encode(&out, field);

		/* iWARP delivers what was sent, the others all of the field */
		const size_t arrives[] = { len, all[i].field };
		for (size_t k = 0; k < COUNT(arrives); k++) {
			memset(&in, 0xff, sizeof(in));
			assert_int_equal(control_greeting_decode(&in, field, arrives[k]), 0);
			assert_int_equal(in.kind, all[i].kind);
			if (in.kind == CONTROL_TURNED_DOWN) {
				assert_int_equal(in.refusal.code, CONTROL_CODE_FULL);
				assert_string_equal(in.refusal.text, "full: 7");
			}
		}
	}
}

static void greeting__strangers(void **state)
{
	(void)state;
	struct control_greeting in;
	uint8_t field[REQUEST_FIELD] = { 0 };

	assert_int_equal(control_greeting_decode(&in, NULL, 0), CONTROL_FOREIGN);
	assert_int_equal(control_greeting_decode(&in, field, sizeof(field)), CONTROL_FOREIGN);
	memset(field, 0xff, sizeof(field));
	assert_int_equal(control_greeting_decode(&in, field, sizeof(field)), CONTROL_FOREIGN);
	memcpy(field, "rpma.uv", 7);
	assert_int_equal(control_greeting_decode(&in, field, sizeof(field)), CONTROL_FOREIGN);
}

static void greeting__cut_off_anywhere(void **state)
{
	(void)state;
	uint8_t field[256];
	struct control_greeting out = { .kind = CONTROL_TURNED_DOWN }, in;
	control_refuse(&out.refusal, CONTROL_CODE_FULL, "full");
	size_t len = encode(&out, field);

	for (size_t cut = 0; cut < len; cut++)
		assert_int_equal(control_greeting_decode(&in, field, cut),
			cut < 8 ? CONTROL_FOREIGN : CONTROL_LENGTH);

	out.kind = CONTROL_REQUEST;
	len = encode(&out, field);
	for (size_t cut = 8; cut < len; cut++)
		assert_int_equal(control_greeting_decode(&in, field, cut), CONTROL_LENGTH);
}

static void greeting__wrong_fields(void **state)
{
	(void)state;
	static const struct {
		enum control_kind kind;
		size_t at;
		uint8_t value;
		int error;
	} all[] = {
		{ CONTROL_REQUEST, 0, 'R', CONTROL_FOREIGN },
		{ CONTROL_REQUEST, 8, CONTROL_VERSION + 1, CONTROL_UNSPOKEN },
		{ CONTROL_REQUEST, 9, 1, CONTROL_UNSPOKEN },
		{ CONTROL_REQUEST, 10, 0, CONTROL_TYPE },
		{ CONTROL_REQUEST, 10, 4, CONTROL_TYPE },
		{ CONTROL_REQUEST, 11, 1, CONTROL_TYPE },
		{ CONTROL_REQUEST, 12, 1, CONTROL_VALUE }, /* a code where there is none */
		{ CONTROL_WELCOME, 14, 1, CONTROL_VALUE }, /* a text where there is none */
		{ CONTROL_TURNED_DOWN, 12, 0, CONTROL_VALUE }, /* no code */
		{ CONTROL_TURNED_DOWN, 14, 255, CONTROL_LENGTH }, /* longer than allowed */
		{ CONTROL_TURNED_DOWN, 15, 255, CONTROL_LENGTH },
		{ CONTROL_TURNED_DOWN, 16, '\x1b', CONTROL_VALUE }, /* terminals obey these */
		{ CONTROL_TURNED_DOWN, 16, '\n', CONTROL_VALUE },
		{ CONTROL_TURNED_DOWN, 16, 0, CONTROL_VALUE },
		{ CONTROL_TURNED_DOWN, 16, 0x80, CONTROL_VALUE },
	};

	for (size_t i = 0; i < COUNT(all); i++) {
		uint8_t field[256];
		struct control_greeting out = { .kind = all[i].kind }, in;
		control_refuse(&out.refusal, CONTROL_CODE_FULL, "full");
		(void)encode(&out, field);
		field[all[i].at] = all[i].value;
		assert_int_equal(
			control_greeting_decode(&in, field, REJECTION_FIELD), all[i].error);
	}
}

/* a length that is allowed, but more than what has come */
static void greeting__length_beyond_the_field(void **state)
{
	(void)state;
	uint8_t field[256];
	struct control_greeting out = { .kind = CONTROL_TURNED_DOWN }, in;
	control_refuse(&out.refusal, CONTROL_CODE_FULL, "full");
	(void)encode(&out, field);

	field[14] = 41;
	memset(field + 16, 'x', 41);
	assert_int_equal(control_greeting_decode(&in, field, REQUEST_FIELD), CONTROL_LENGTH);
	assert_int_equal(control_greeting_decode(&in, field, REQUEST_FIELD + 1), 0);
}

static void refuse__only_prints(void **state)
{
	(void)state;
	struct control_refusal refusal;

	control_refuse(&refusal, CONTROL_CODE_NAME, "%s", "a\nb\x1b[2J\xc3\xa4\x7f");
	assert_string_equal(refusal.text, "a?b?[2J???");
}

static void strerror__says_something(void **state)
{
	(void)state;
	for (int error = 0; error >= CONTROL_VALUE - 1; error--)
		assert_true(strlen(control_strerror(error)) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(greeting__fits_its_field),
		cmocka_unit_test(greeting__round_trip),
		cmocka_unit_test(greeting__strangers),
		cmocka_unit_test(greeting__cut_off_anywhere),
		cmocka_unit_test(greeting__wrong_fields),
		cmocka_unit_test(greeting__length_beyond_the_field),
		cmocka_unit_test(refuse__only_prints),
		cmocka_unit_test(strerror__says_something),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
