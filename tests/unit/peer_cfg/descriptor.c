/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* descriptor.c - a peer configuration in one byte, there and back */

#include "unit.h"

#define GUARD 0x5a

static void descriptor__one_byte(void **state)
{
	struct rpma_peer_cfg *pcfg = NULL;
	uint8_t desc[] = { GUARD, GUARD };
	size_t size = 0;

	(void)state;
	assert_int_equal(rpma_peer_cfg_new(&pcfg), 0);
	assert_int_equal(rpma_peer_cfg_get_descriptor_size(pcfg, &size), 0);
	assert_int_equal(size, 1);
	assert_int_equal(rpma_peer_cfg_get_descriptor(pcfg, desc), 0);
	assert_int_equal(desc[0], 0);
	assert_int_equal(rpma_peer_cfg_set_direct_write_to_pmem(pcfg, true), 0);
	assert_int_equal(rpma_peer_cfg_get_descriptor(pcfg, desc), 0);
	assert_int_equal(desc[0], 1);
	assert_int_equal(desc[1], GUARD);
	assert_int_equal(rpma_peer_cfg_delete(&pcfg), 0);
}

static void descriptor__null(void **state)
{
	struct rpma_peer_cfg *pcfg = NULL;
	uint8_t desc = GUARD;
	size_t size = UNIT_UNTOUCHED_INT;

	(void)state;
	assert_int_equal(rpma_peer_cfg_new(&pcfg), 0);
	assert_int_equal(rpma_peer_cfg_get_descriptor(NULL, &desc), RPMA_E_INVAL);
	assert_int_equal(desc, GUARD);
	assert_int_equal(rpma_peer_cfg_get_descriptor(pcfg, NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_peer_cfg_get_descriptor_size(NULL, &size), RPMA_E_INVAL);
	assert_int_equal(size, UNIT_UNTOUCHED_INT);
	assert_int_equal(rpma_peer_cfg_get_descriptor_size(pcfg, NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_peer_cfg_delete(&pcfg), 0);
}

/* any byte but 0 declares direct write, and is 1 when it is written down again */
static void from_descriptor__any_byte(void **state)
{
	static const uint8_t bytes[] = { 0, 1, 2, 0x80, 0xff };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bytes); i++) {
		const uint8_t desc[] = { bytes[i], GUARD };
		struct rpma_peer_cfg *pcfg = NULL;
		bool supported = bytes[i] == 0;
		uint8_t again = GUARD;

		unit_log_forget();
		/* what follows the first byte does not count */
		assert_int_equal(rpma_peer_cfg_from_descriptor(desc, 1 + i % 2, &pcfg), 0);
		assert_int_equal(unit_logged(RPMA_LOG_LEVEL_INFO), 1);
		assert_int_equal(rpma_peer_cfg_get_direct_write_to_pmem(pcfg, &supported), 0);
		assert_int_equal(supported, bytes[i] != 0);
		assert_int_equal(rpma_peer_cfg_get_descriptor(pcfg, &again), 0);
		assert_int_equal(again, bytes[i] != 0);
		assert_int_equal(rpma_peer_cfg_delete(&pcfg), 0);
	}
}

static void from_descriptor__fails(void **state)
{
	struct rpma_peer_cfg *pcfg = UNIT_UNTOUCHED;
	const uint8_t desc = 1;

	(void)state;
	assert_int_equal(rpma_peer_cfg_from_descriptor(NULL, 1, &pcfg), RPMA_E_INVAL);
	assert_int_equal(rpma_peer_cfg_from_descriptor(&desc, 1, NULL), RPMA_E_INVAL);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 0);
	assert_int_equal(rpma_peer_cfg_from_descriptor(&desc, 0, &pcfg), RPMA_E_INVAL);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
	unit_alloc_fail(1);
	assert_int_equal(rpma_peer_cfg_from_descriptor(&desc, 1, &pcfg), RPMA_E_NOMEM);
	assert_ptr_equal(pcfg, UNIT_UNTOUCHED);
}

UNIT_MAIN(UNIT_TEST(descriptor__null), UNIT_TEST(descriptor__one_byte),
	UNIT_TEST(from_descriptor__any_byte), UNIT_TEST(from_descriptor__fails))
