/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* absent.c - a build whose headers know no native operation: every question is answered with no */

#include "src/native.h"
#include "unit.h"

static const struct rpma__native all = {
	.has_flush = true, .has_atomic_write = true, .is_used = true
};

static void absent__nothing_is_found(void **state)
{
	const struct ibv_device_attr_ex attr = { .device_cap_flags_ex = UINT64_MAX };
	struct rpma__native native = rpma__native_of(&attr);

	(void)state;
	assert_false(native.has_flush);
	assert_false(native.has_atomic_write);
	assert_int_equal(rpma__native_send_ops(&all), 0);
	assert_int_equal(rpma__native_access(&all, RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT), 0);
	assert_int_equal(rpma__native_weaker(IBV_ACCESS_LOCAL_WRITE), 0);
}

/* and nothing is posted, even to a queue pair that would take it */
static void absent__nothing_is_posted(void **state)
{
	struct ibv_qp_ex ex, before;

	(void)state;
	memset(&ex, 0xff, sizeof(ex));
	before = ex;
	assert_null(rpma__native_qp(&ex.qp_base));
	assert_false(rpma__native_can_flush(&ex));
	assert_false(rpma__native_can_atomic_write(&ex));
	rpma__native_add_flush(&ex, 1, 0, 2, 3, 4, RPMA_FLUSH_TYPE_PERSISTENT);
	rpma__native_add_atomic_write(&ex, 1, 0, 2, 3, "8 bytes");
	assert_int_equal(
		rpma__native_flush(&ex, 1, 0, 2, 3, 4, RPMA_FLUSH_TYPE_PERSISTENT), EOPNOTSUPP);
	assert_int_equal(rpma__native_atomic_write(&ex, 1, 0, 2, 3, "8 bytes"), EOPNOTSUPP);
	assert_memory_equal(&ex, &before, sizeof(ex));
}

UNIT_MAIN(UNIT_TEST(absent__nothing_is_found), UNIT_TEST(absent__nothing_is_posted))
