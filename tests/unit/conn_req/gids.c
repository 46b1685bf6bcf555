/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* gids.c - a library built for debugging tells between which ports a connection is made */

#include <endian.h>

#include "unit.h"

static unsigned notices(struct unit_ep *u, struct ibv_sa_path_rec *path)
{
	struct rpma_conn_req *req = NULL;

	unit_log_forget();
	u->id = double_push_request(u->listen_id, NULL, 0);
	u->id->route.path_rec = path;
	assert_int_equal(rpma_ep_next_conn_req(u->ep, NULL, &req), 0);
	assert_int_equal(rpma_conn_req_delete(&req), 0);
	return unit_logged(RPMA_LOG_LEVEL_NOTICE);
}

static void gids__logged(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct ibv_sa_path_rec path = { 0 };
	struct unit_ep u;

	(void)state;
	path.sgid.global.subnet_prefix = htobe64(0xfe80000000000000);
	path.sgid.global.interface_id = htobe64(0x1122);
	path.dgid.global.interface_id = htobe64(0x3344);
	unit_ep_listen(&u, peer);
#ifdef DEBUG
	assert_int_equal(notices(&u, &path), 1);
	assert_non_null(strstr(unit_log_text, "source 0xfe800000000000000000000000001122, "
					      "destination 0x00000000000000000000000000003344"));
#else
	assert_int_equal(notices(&u, &path), 0);
#endif
	unit_ep_shutdown(&u);
	unit_peer_delete(peer);
}

/* where there is no path (iWARP) there is nothing to tell */
static void gids__no_path(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct unit_ep u;

	(void)state;
	unit_ep_listen(&u, peer);
	assert_int_equal(notices(&u, NULL), 0);
	unit_ep_shutdown(&u);
	unit_peer_delete(peer);
}

UNIT_MAIN(UNIT_TEST(gids__logged), UNIT_TEST(gids__no_path))
