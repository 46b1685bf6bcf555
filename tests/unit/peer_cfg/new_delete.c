/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* new_delete.c - a peer configuration comes without direct write, and goes */

#include "unit.h"

static void peer_cfg_new__default(void **state)
{
	struct rpma_peer_cfg *pcfg = NULL;
	bool supported = true;

	(void)state;
	assert_int_equal(rpma_peer_cfg_new(&pcfg), 0);
	assert_int_equal(rpma_peer_cfg_get_direct_write_to_pmem(pcfg, &supported), 0);
	assert_false(supported);
	assert_int_equal(rpma_peer_cfg_delete(&pcfg), 0);
	assert_null(pcfg);
}

static void peer_cfg_new__fails(void **state)
{
	struct rpma_peer_cfg *pcfg = UNIT_UNTOUCHED;

	(void)state;
	assert_int_equal(rpma_peer_cfg_new(NULL), RPMA_E_INVAL);
	unit_alloc_fail(1);
	assert_int_equal(rpma_peer_cfg_new(&pcfg), RPMA_E_NOMEM);
	assert_ptr_equal(pcfg, UNIT_UNTOUCHED);
}

static void peer_cfg_delete__null(void **state)
{
	struct rpma_peer_cfg *pcfg = NULL;

	(void)state;
	assert_int_equal(rpma_peer_cfg_delete(NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_peer_cfg_delete(&pcfg), 0);
}

UNIT_MAIN(UNIT_TEST(peer_cfg_delete__null), UNIT_TEST(peer_cfg_new__default),
	UNIT_TEST(peer_cfg_new__fails))
