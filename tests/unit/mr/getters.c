/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* getters.c - address, length and descriptor of a region */

#include <endian.h>

#include "unit.h"

#define DESC_SIZE 21
#define GUARD     0x5a

static uint8_t memory[64];

static void mr_get__ptr_and_size(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_mr_local *mr = unit_mr(peer, memory + 3, 60, RPMA_MR_USAGE_RECV);
	void *ptr = NULL;
	size_t size = 0;

	(void)state;
	assert_int_equal(rpma_mr_get_ptr(mr, &ptr), 0);
	assert_ptr_equal(ptr, memory + 3);
	assert_int_equal(rpma_mr_get_size(mr, &size), 0);
	assert_int_equal(size, 60);
	assert_int_equal(rpma_mr_get_descriptor_size(mr, &size), 0);
	assert_int_equal(size, DESC_SIZE);
	assert_int_equal(rpma_mr_dereg(&mr), 0);
	unit_peer_delete(peer);
}

static void mr_get__null(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_mr_local *mr = unit_mr(peer, memory, 64, RPMA_MR_USAGE_RECV);
	void *ptr = UNIT_UNTOUCHED;
	size_t size = UNIT_UNTOUCHED_INT;
	uint8_t desc = GUARD;

	(void)state;
	assert_int_equal(rpma_mr_get_ptr(NULL, &ptr), RPMA_E_INVAL);
	assert_int_equal(rpma_mr_get_ptr(mr, NULL), RPMA_E_INVAL);
	assert_ptr_equal(ptr, UNIT_UNTOUCHED);
	assert_int_equal(rpma_mr_get_size(NULL, &size), RPMA_E_INVAL);
	assert_int_equal(rpma_mr_get_size(mr, NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_mr_get_descriptor_size(NULL, &size), RPMA_E_INVAL);
	assert_int_equal(rpma_mr_get_descriptor_size(mr, NULL), RPMA_E_INVAL);
	assert_int_equal(size, UNIT_UNTOUCHED_INT);
	assert_int_equal(rpma_mr_get_descriptor(NULL, &desc), RPMA_E_INVAL);
	assert_int_equal(rpma_mr_get_descriptor(mr, NULL), RPMA_E_INVAL);
	assert_int_equal(desc, GUARD);
	assert_int_equal(rpma_mr_dereg(&mr), 0);
	unit_peer_delete(peer);
}

/* 21 bytes, packed, little-endian, at any alignment, whatever the usage */
static void mr_get__descriptor(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	int usage;

	(void)state;
	for (usage = 1; usage <= 0xff; usage++) {
		struct rpma_mr_local *mr = unit_mr(peer, memory, 64, usage);
		const uint64_t addr = htole64((uint64_t)(uintptr_t)memory);
		const uint32_t rkey = htole32(double_last_mr()->rkey);
		const uint8_t size[8] = { 64 };
		uint8_t buf[1 + DESC_SIZE + 1], *desc = buf + 1;

		memset(buf, GUARD, sizeof(buf));
		assert_int_equal(rpma_mr_get_descriptor(mr, desc), 0);
		assert_memory_equal(desc, &addr, 8);
		assert_memory_equal(desc + 8, size, 8);
		assert_memory_equal(desc + 16, &rkey, 4);
		assert_int_equal(desc[20], usage);
		assert_int_equal(buf[0], GUARD);
		assert_int_equal(desc[DESC_SIZE], GUARD);
		assert_int_equal(rpma_mr_dereg(&mr), 0);
	}
	unit_peer_delete(peer);
}

UNIT_MAIN(UNIT_TEST(mr_get__descriptor), UNIT_TEST(mr_get__null), UNIT_TEST(mr_get__ptr_and_size))
