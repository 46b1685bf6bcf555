/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* librpma.c - a program that uses librpma and nothing else */

#include <librpma.h>

int main(void)
{
	struct rpma_conn_cfg *cfg;

	return rpma_conn_cfg_new(&cfg) || rpma_conn_cfg_delete(&cfg);
}
