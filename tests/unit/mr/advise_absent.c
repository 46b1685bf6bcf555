/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * advise_absent.c - with a libibverbs that has no ibv_advise_mr a region takes no advice; the answer
 * is that of a device that takes none (mr/advise)
 */

#undef RPMA_HAVE_ADVISE_MR
#include "../../../src/advise.h"
#include "unit.h"

static void advise__absent(void **state)
{
	struct ibv_sge sge = { 0 };

	(void)state;
	assert_int_equal(rpma__advise_mr(NULL, 0, 0, &sge), EOPNOTSUPP);
	assert_int_equal(double_calls("ibv_advise_mr"), 0);
}

UNIT_MAIN(UNIT_TEST(advise__absent))
