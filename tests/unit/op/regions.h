/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* regions.h - a connection with a region in both forms, for tests of operations */

#ifndef RPMA_UNIT_OP_REGIONS_H
#define RPMA_UNIT_OP_REGIONS_H

#include "unit.h"

#define REGION_SIZE  64
#define REGION_USAGE 0xff

static struct unit_conn u;
static char memory[REGION_SIZE];
static struct rpma_mr_local *mr;
static struct rpma_mr_remote *remote;

static int regions_setup(void **state)
{
	(void)unit_setup(state);
	unit_conn_new(&u, NULL);
	mr = unit_mr(u.peer, memory, sizeof(memory), REGION_USAGE);
	remote = unit_mr_remote(mr);
	memset(memory, 0, sizeof(memory));
	unit_log_forget();
	double_log_clear();
	return 0;
}

static int regions_teardown(void **state)
{
	/* the device lets go of what a test has posted and not completed */
	(void)double_flush(u.qp);
	assert_int_equal(rpma_mr_remote_delete(&remote), 0);
	assert_int_equal(rpma_mr_dereg(&mr), 0);
	unit_conn_delete(&u);
	return unit_teardown(state);
}

#define REGIONS_TEST(function) \
	cmocka_unit_test_setup_teardown(function, regions_setup, regions_teardown)

#endif /* RPMA_UNIT_OP_REGIONS_H */
