/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* target.c - a range of a remote region is used as it is, or refused */

#include <endian.h>

#include "../../../src/mr.h"
#include "unit.h"

static struct rpma_mr_remote *remote(uint64_t addr, uint64_t size)
{
	const uint64_t words[] = { htole64(addr), htole64(size) };
	struct rpma_mr_remote *mr = NULL;
	uint8_t desc[21] = { 0 };

	memcpy(desc, words, sizeof(words));
	desc[16] = 0x2d;
	desc[20] = 1;
	assert_int_equal(rpma_mr_remote_from_descriptor(desc, sizeof(desc), &mr), 0);
	return mr;
}

static void expect_inside(const struct rpma_mr_remote *mr, size_t offset, size_t len, uint64_t at)
{
	uint64_t addr = 0;
	uint32_t rkey = 0;

	assert_int_equal(rpma__mr_remote_target(mr, offset, len, &addr, &rkey), 0);
	assert_int_equal(addr, at);
	assert_int_equal(rkey, 0x2d);
}

static void expect_outside(const struct rpma_mr_remote *mr, size_t offset, size_t len)
{
	uint64_t addr = 1;
	uint32_t rkey = 2;

	assert_int_equal(rpma__mr_remote_target(mr, offset, len, &addr, &rkey), RPMA_E_INVAL);
	assert_int_equal(addr, 1);
	assert_int_equal(rkey, 2);
}

static void target__range(void **state)
{
	struct rpma_mr_remote *mr = remote(0x1000, 64);

	(void)state;
	expect_inside(mr, 0, 64, 0x1000);
	expect_inside(mr, 63, 1, 0x103f);
	expect_inside(mr, 64, 0, 0x1040);
	expect_outside(mr, 0, 65);
	expect_outside(mr, 64, 1);
	expect_outside(mr, 65, 0);
	expect_outside(mr, SIZE_MAX, 1);
	expect_outside(mr, SIZE_MAX - 3, 8);
	expect_outside(mr, 1, SIZE_MAX);
	assert_int_equal(rpma_mr_remote_delete(&mr), 0);
}

static void target__above_32_bits(void **state)
{
	struct rpma_mr_remote *mr = remote(0x1000, (uint64_t)1 << 40);

	(void)state;
	expect_inside(mr, (size_t)1 << 33, UINT32_MAX, 0x1000 + ((uint64_t)1 << 33));
	expect_outside(mr, 0, (size_t)UINT32_MAX + 1);
	assert_int_equal(rpma_mr_remote_delete(&mr), 0);
}

/* a descriptor may claim a size with which the address wraps around */
static void target__wraps(void **state)
{
	struct rpma_mr_remote *mr = remote(UINT64_MAX - 15, UINT64_MAX);

	(void)state;
	expect_inside(mr, 0, 8, UINT64_MAX - 15);
	expect_outside(mr, 8, 16);
	expect_outside(mr, 32, 8);
	expect_outside(mr, SIZE_MAX - 8, 8);
	assert_int_equal(rpma_mr_remote_delete(&mr), 0);
}

UNIT_MAIN(UNIT_TEST(target__above_32_bits), UNIT_TEST(target__range), UNIT_TEST(target__wraps))
