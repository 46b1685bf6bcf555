/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* sge.c - a range of a local region is used as it is, or refused */

#include "../../../src/mr.h"
#include "unit.h"

static void sge__inside(void **state)
{
	static uint8_t memory[64];
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_mr_local *mr = unit_mr(peer, memory, 64, RPMA_MR_USAGE_RECV);
	struct ibv_sge sge;

	(void)state;
	assert_int_equal(rpma__mr_local_sge(mr, 60, 4, &sge), 0);
	assert_int_equal(sge.addr, (uintptr_t)memory + 60);
	assert_int_equal(sge.length, 4);
	assert_int_equal(sge.lkey, double_last_mr()->lkey);
	assert_int_equal(rpma__mr_local_sge(mr, 64, 0, &sge), 0);
	assert_int_equal(sge.length, 0);
	assert_int_equal(rpma_mr_dereg(&mr), 0);
	unit_peer_delete(peer);
}

static void sge__outside(void **state)
{
	static const struct {
		size_t offset;
		size_t len;
	} ranges[] = { { 0, 65 }, { 1, 64 }, { 64, 1 }, { 65, 0 }, { SIZE_MAX, 1 }, { 1, SIZE_MAX },
		{ SIZE_MAX, SIZE_MAX }, { SIZE_MAX - 3, 8 }, { 0, (size_t)UINT32_MAX + 1 + 5 } };
	static uint8_t memory[64];
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_mr_local *mr = unit_mr(peer, memory, 64, RPMA_MR_USAGE_RECV);
	struct ibv_sge sge = { .addr = 1, .length = 2, .lkey = 3 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		assert_int_equal(rpma__mr_local_sge(mr, ranges[i].offset, ranges[i].len, &sge),
			RPMA_E_INVAL);
		assert_int_equal(sge.addr, 1);
		assert_int_equal(sge.length, 2);
		assert_int_equal(sge.lkey, 3);
	}
	assert_int_equal(rpma_mr_dereg(&mr), 0);
	unit_peer_delete(peer);
}

/* a work request has 32 bits for a length: larger regions are fine, larger ranges are not */
static void sge__above_32_bits(void **state)
{
	static uint8_t memory[1]; /* the double does not touch it */
	const size_t size = (size_t)1 << 40;
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_mr_local *mr = unit_mr(peer, memory, size, RPMA_MR_USAGE_RECV);
	struct ibv_sge sge;

	(void)state;
	assert_int_equal(rpma__mr_local_sge(mr, size - UINT32_MAX, UINT32_MAX, &sge), 0);
	assert_int_equal(sge.length, UINT32_MAX);
	assert_int_equal(rpma__mr_local_sge(mr, 0, (size_t)UINT32_MAX + 1, &sge), RPMA_E_INVAL);
	assert_int_equal(rpma_mr_dereg(&mr), 0);
	unit_peer_delete(peer);
}

UNIT_MAIN(UNIT_TEST(sge__above_32_bits), UNIT_TEST(sge__inside), UNIT_TEST(sge__outside))
