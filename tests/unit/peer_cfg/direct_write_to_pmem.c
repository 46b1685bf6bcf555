/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* direct_write_to_pmem.c - what is declared is what is read */

#include "unit.h"

static void direct_write__set_and_get(void **state)
{
	struct rpma_peer_cfg *pcfg = NULL;
	bool supported = false;

	(void)state;
	assert_int_equal(rpma_peer_cfg_new(&pcfg), 0);
	assert_int_equal(rpma_peer_cfg_set_direct_write_to_pmem(pcfg, true), 0);
	assert_int_equal(rpma_peer_cfg_get_direct_write_to_pmem(pcfg, &supported), 0);
	assert_true(supported);
	assert_int_equal(rpma_peer_cfg_set_direct_write_to_pmem(pcfg, false), 0);
	assert_int_equal(rpma_peer_cfg_get_direct_write_to_pmem(pcfg, &supported), 0);
	assert_false(supported);
	assert_int_equal(rpma_peer_cfg_delete(&pcfg), 0);
}

static void direct_write__null(void **state)
{
	struct rpma_peer_cfg *pcfg = NULL;
	bool supported = true;

	(void)state;
	assert_int_equal(rpma_peer_cfg_new(&pcfg), 0);
	assert_int_equal(rpma_peer_cfg_set_direct_write_to_pmem(NULL, true), RPMA_E_INVAL);
	assert_int_equal(rpma_peer_cfg_get_direct_write_to_pmem(pcfg, NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_peer_cfg_get_direct_write_to_pmem(NULL, &supported), RPMA_E_INVAL);
	assert_true(supported);
	assert_int_equal(rpma_peer_cfg_delete(&pcfg), 0);
}

UNIT_MAIN(UNIT_TEST(direct_write__null), UNIT_TEST(direct_write__set_and_get))
