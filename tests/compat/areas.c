/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* areas.c - what is checked of librpma, by the sections of its specification */

#include "compat.h"

extern const struct check library_checks[], utils_checks[], text_checks[], log_checks[];
extern const struct check syslog_checks[], peer_checks[], peer_cfg_checks[], mr_checks[];
extern const struct check mr_remote_checks[], conn_cfg_checks[], srq_cfg_checks[], srq_checks[];
extern const struct check arrangement_checks[], ep_checks[], conn_req_checks[], conn_checks[];
extern const struct check data_checks[], flush_checks[], cq_checks[], thread_checks[];

const struct area check_areas[] = {
	{ "1 library", library_checks },
	{ "6.1 utils", utils_checks },
	{ "6.1 texts", text_checks },
	{ "6.2 log", log_checks },
	{ "11 built-in log", syslog_checks },
	{ "6.3 peer", peer_checks },
	{ "6.4 peer_cfg", peer_cfg_checks },
	{ "6.5 mr local", mr_checks },
	{ "6.6 mr remote", mr_remote_checks },
	{ "6.7 conn_cfg", conn_cfg_checks },
	{ "6.8 srq_cfg", srq_cfg_checks },
	{ "6.8 srq", srq_checks },
	{ "7.4 srq of connections", arrangement_checks },
	{ "6.9 ep", ep_checks },
	{ "6.10 conn_req", conn_req_checks },
	{ "6.11 conn", conn_checks },
	{ "6.12 data", data_checks },
	{ "9 flush, atomic write", flush_checks },
	{ "6.13 cq", cq_checks },
	{ "14 threads", thread_checks },
	{ NULL },
};
