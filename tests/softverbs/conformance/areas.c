/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* areas.c - what conformance checks */

#include "check.h"

extern const struct check channel_checks[], id_checks[], option_checks[], resolve_checks[];
extern const struct check connect_checks[], param_checks[], reject_checks[], disconnect_checks[];
extern const struct check state_checks[], mr_checks[], cq_checks[], notify_checks[], qp_checks[];
extern const struct check raw_checks[], post_checks[], data_checks[], atomic_checks[];
extern const struct check order_checks[], error_checks[], access_checks[], flush_checks[];
extern const struct check srq_checks[], async_checks[], device_checks[], extended_checks[];
extern const struct check native_checks[], process_checks[];

const struct area check_areas[] = {
	{ "channel", channel_checks },
	{ "id", id_checks },
	{ "option", option_checks },
	{ "resolve", resolve_checks },
	{ "connect", connect_checks },
	{ "parameters", param_checks },
	{ "reject", reject_checks },
	{ "disconnect", disconnect_checks },
	{ "state", state_checks },
	{ "memory", mr_checks },
	{ "cq", cq_checks },
	{ "notify", notify_checks },
	{ "qp", qp_checks },
	{ "by hand", raw_checks },
	{ "post", post_checks },
	{ "data", data_checks },
	{ "atomic", atomic_checks },
	{ "order", order_checks },
	{ "error", error_checks },
	{ "access", access_checks },
	{ "flush", flush_checks },
	{ "srq", srq_checks },
	{ "async", async_checks },
	{ "device", device_checks },
	{ "extended", extended_checks },
#ifdef SV_HAS_NATIVE
	{ "native", native_checks },
#endif
	{ "process", process_checks },
	{ NULL },
};
