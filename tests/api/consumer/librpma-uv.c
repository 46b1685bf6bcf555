/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* librpma-uv.c - a program that uses both libraries, and libuv */

#include <librpma_uv.h>

int main(void)
{
	struct rpma_conn_cfg *cfg;
	rpma_uv_reactor_t r;

	if (rpma_uv_reactor_init(uv_default_loop(), &r, NULL))
		return 1;
	rpma_uv_reactor_close(&r, NULL, NULL);
	return uv_run(uv_default_loop(), UV_RUN_DEFAULT) || rpma_conn_cfg_new(&cfg) ||
	       rpma_conn_cfg_delete(&cfg);
}
