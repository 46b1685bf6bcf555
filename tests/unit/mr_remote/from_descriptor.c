/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* from_descriptor.c - a peer's descriptor becomes a remote region, or is refused */

#include "../../../src/mr.h"
#include "unit.h"

#define DESC_SIZE 21

static const uint8_t example[DESC_SIZE + 3] = { 0x00, 0x50, 0xdb, 0x07, 0xec, 0x55, 0x00, 0x00,
	0x64, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x2d, 0x00, 0x00, 0x00, 0xff, 1, 2, 3 };

/* the bytes of 100 bytes at 0x55ec07db5000 with the key 0x2d, wherever they lie */
static void from_descriptor__example(void **state)
{
	struct rpma_mr_remote *mr = NULL;
	uint8_t buf[DESC_SIZE + 1];
	uint64_t addr = 0;
	uint32_t rkey = 0;
	size_t size = 0;

	(void)state;
	memcpy(buf + 1, example, DESC_SIZE);
	assert_int_equal(rpma_mr_remote_from_descriptor(buf + 1, DESC_SIZE, &mr), 0);
	memset(buf, 0, sizeof(buf)); /* not looked at any more */
	assert_int_equal(rpma_mr_remote_get_size(mr, &size), 0);
	assert_int_equal(size, 100);
	assert_int_equal(rpma__mr_remote_target(mr, 0, 100, &addr, &rkey), 0);
	assert_int_equal(addr, 0x55ec07db5000);
	assert_int_equal(rkey, 0x2d);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_DEBUG), 1);
	assert_int_equal(rpma_mr_remote_delete(&mr), 0);
}

/* longer descriptors are fine, and equal ones give equal objects */
static void from_descriptor__longer(void **state)
{
	struct rpma_mr_remote *a = NULL, *b = NULL;

	(void)state;
	assert_int_equal(rpma_mr_remote_from_descriptor(example, DESC_SIZE, &a), 0);
	assert_int_equal(rpma_mr_remote_from_descriptor(example, sizeof(example), &b), 0);
	assert_memory_equal(a, b, 14); /* as far as programs compare them */
	assert_int_equal(rpma_mr_remote_delete(&a), 0);
	assert_int_equal(rpma_mr_remote_delete(&b), 0);
}

/* nothing but the usage is verified */
static void from_descriptor__odd(void **state)
{
	struct rpma_mr_remote *mr = NULL;
	uint8_t desc[DESC_SIZE] = { 0 };
	size_t size = UNIT_UNTOUCHED_INT;

	(void)state;
	desc[20] = 1;
	assert_int_equal(rpma_mr_remote_from_descriptor(desc, DESC_SIZE, &mr), 0);
	assert_int_equal(rpma_mr_remote_get_size(mr, &size), 0);
	assert_int_equal(size, 0);
	assert_int_equal(rpma_mr_remote_delete(&mr), 0);
	memset(desc, 0xff, sizeof(desc));
	assert_int_equal(rpma_mr_remote_from_descriptor(desc, DESC_SIZE, &mr), 0);
	assert_int_equal(rpma_mr_remote_get_size(mr, &size), 0);
	assert_true(size == SIZE_MAX);
	assert_int_equal(rpma_mr_remote_delete(&mr), 0);
}

static void from_descriptor__invalid(void **state)
{
	struct rpma_mr_remote *mr = UNIT_UNTOUCHED;
	uint8_t desc[DESC_SIZE];

	(void)state;
	assert_int_equal(rpma_mr_remote_from_descriptor(NULL, DESC_SIZE, &mr), RPMA_E_INVAL);
	assert_int_equal(rpma_mr_remote_from_descriptor(example, DESC_SIZE, NULL), RPMA_E_INVAL);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 0);
	assert_int_equal(rpma_mr_remote_from_descriptor(example, 0, &mr), RPMA_E_INVAL);
	assert_int_equal(rpma_mr_remote_from_descriptor(example, DESC_SIZE - 1, &mr), RPMA_E_INVAL);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 2);
	memcpy(desc, example, DESC_SIZE);
	desc[20] = 0;
	assert_int_equal(rpma_mr_remote_from_descriptor(desc, DESC_SIZE, &mr), RPMA_E_INVAL);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 3);
	unit_alloc_fail(1);
	assert_int_equal(rpma_mr_remote_from_descriptor(example, DESC_SIZE, &mr), RPMA_E_NOMEM);
	assert_ptr_equal(mr, UNIT_UNTOUCHED);
}

UNIT_MAIN(UNIT_TEST(from_descriptor__example), UNIT_TEST(from_descriptor__invalid),
	UNIT_TEST(from_descriptor__longer), UNIT_TEST(from_descriptor__odd))
