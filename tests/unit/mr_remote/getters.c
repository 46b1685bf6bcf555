/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* getters.c - size and ways of flushing of a remote region, and its end */

#include "unit.h"

static struct rpma_mr_remote *remote(uint8_t usage)
{
	struct rpma_mr_remote *mr = NULL;
	uint8_t desc[21] = { 0 };

	desc[8 + 4] = 1; /* 4 GiB */
	desc[20] = usage;
	assert_int_equal(rpma_mr_remote_from_descriptor(desc, sizeof(desc), &mr), 0);
	return mr;
}

/* the answer is made of the usage's bits */
static void get_flush_type__every_usage(void **state)
{
	int usage;

	(void)state;
	for (usage = 1; usage <= 0xff; usage++) {
		struct rpma_mr_remote *mr = remote((uint8_t)usage);
		int flush_type = UNIT_UNTOUCHED_INT;

		assert_int_equal(rpma_mr_remote_get_flush_type(mr, &flush_type), 0);
		assert_int_equal(flush_type, usage & 0x30);
		assert_int_equal(rpma_mr_remote_delete(&mr), 0);
	}
}

static void get_size__above_32_bits(void **state)
{
	struct rpma_mr_remote *mr = remote(1);
	size_t size = 0;

	(void)state;
	assert_int_equal(rpma_mr_remote_get_size(mr, &size), 0);
	assert_int_equal(size, (size_t)1 << 32);
	assert_int_equal(rpma_mr_remote_delete(&mr), 0);
}

static void get__null(void **state)
{
	struct rpma_mr_remote *mr = remote(1);
	size_t size = UNIT_UNTOUCHED_INT;
	int flush_type = UNIT_UNTOUCHED_INT;

	(void)state;
	assert_int_equal(rpma_mr_remote_get_size(NULL, &size), RPMA_E_INVAL);
	assert_int_equal(rpma_mr_remote_get_size(mr, NULL), RPMA_E_INVAL);
	assert_int_equal(size, UNIT_UNTOUCHED_INT);
	assert_int_equal(rpma_mr_remote_get_flush_type(NULL, &flush_type), RPMA_E_INVAL);
	assert_int_equal(rpma_mr_remote_get_flush_type(mr, NULL), RPMA_E_INVAL);
	assert_int_equal(flush_type, UNIT_UNTOUCHED_INT);
	assert_int_equal(rpma_mr_remote_delete(&mr), 0);
}

static void delete__null(void **state)
{
	struct rpma_mr_remote *mr = remote(1);

	(void)state;
	assert_int_equal(rpma_mr_remote_delete(&mr), 0);
	assert_null(mr);
	assert_int_equal(rpma_mr_remote_delete(&mr), 0);
	assert_int_equal(rpma_mr_remote_delete(NULL), RPMA_E_INVAL);
}

UNIT_MAIN(UNIT_TEST(delete__null), UNIT_TEST(get__null), UNIT_TEST(get_flush_type__every_usage),
	UNIT_TEST(get_size__above_32_bits))
