/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* device.c - devices and their attributes */

#include <errno.h>
#include <infiniband/verbs.h>

#include "pair.h"

static void listed(void)
{
	struct rdma_cm_id *id = id_of_device();
	struct ibv_device **list;
	bool found = false;
	int count = -1;

	list = ibv_get_device_list(&count);
	MUST(list != NULL);
	MUST(count >= 1);
	for (int i = 0; i < count; i++)
		found = found || strcmp(ibv_get_device_name(list[i]),
					 ibv_get_device_name(id->verbs->device)) == 0;
	MUST(found);
	MUST(list[count] == NULL);
	ibv_free_device_list(list);
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void opened(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_device_attr attr;

	MUST(list != NULL);
	struct ibv_context *verbs = ibv_open_device(list[0]);
	MUST(verbs != NULL);
	ibv_free_device_list(list);
	MUST_EQ(ibv_query_device(verbs, &attr), 0);
	struct ibv_pd *pd = ibv_alloc_pd(verbs);
	MUST(pd != NULL);
	MUST_EQ(ibv_dealloc_pd(pd), 0);
	MUST_EQ(ibv_close_device(verbs), 0);
}

static void cm_devices(void)
{
	struct rdma_cm_id *id = id_of_device();
	struct ibv_context **list;
	bool found = false;
	int count = -1;

	list = rdma_get_devices(&count);
	MUST(list != NULL);
	MUST(count >= 1);
	for (int i = 0; i < count; i++)
		found = found || list[i] == id->verbs;
	MUST(found);
	MUST(list[count] == NULL);
	rdma_free_devices(list);
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void attributes(void)
{
	struct rdma_cm_id *id = id_of_device();
	struct ibv_device_attr attr;

	MUST_EQ(ibv_query_device(id->verbs, &attr), 0);
	MUST(attr.max_qp > 0);
	MUST(attr.max_qp_wr >= 16);
	MUST(attr.max_sge >= 2);
	MUST(attr.max_cq > 0);
	MUST(attr.max_cqe >= 64);
	MUST(attr.max_mr > 0);
	MUST(attr.max_pd > 0);
	MUST(attr.max_mr_size >= BUFFER_SIZE);
	MUST(attr.max_qp_rd_atom >= 1);
	MUST(attr.max_qp_init_rd_atom >= 1);
	MUST(attr.phys_port_cnt >= id->port_num);
	MUST_EQ(attr.node_guid, ibv_get_device_guid(id->verbs->device));
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void extended_attributes(void)
{
	struct rdma_cm_id *id = id_of_device();
	struct ibv_device_attr_ex ex;
	struct ibv_device_attr attr;

	MUST_EQ(ibv_query_device(id->verbs, &attr), 0);
	memset(&ex, 0, sizeof(ex));
	MUST_EQ(ibv_query_device_ex(id->verbs, NULL, &ex), 0);
	MUST_EQ(ex.orig_attr.max_qp_wr, attr.max_qp_wr);
	MUST_EQ(ex.orig_attr.max_sge, attr.max_sge);
	MUST_EQ(ex.orig_attr.max_cqe, attr.max_cqe);
	MUST_EQ(ex.orig_attr.max_qp_rd_atom, attr.max_qp_rd_atom);
	MUST_EQ(ex.orig_attr.atomic_cap, attr.atomic_cap);
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void port(void)
{
	struct rdma_cm_id *id = id_of_device();
	struct ibv_port_attr attr;

	MUST_EQ(ibv_query_port(id->verbs, id->port_num, &attr), 0);
	MUST_EQ(attr.state, IBV_PORT_ACTIVE);
	MUST(attr.max_mtu >= attr.active_mtu);
	MUST(attr.active_mtu >= IBV_MTU_256);
	MUST(attr.gid_tbl_len >= 1);
	MUST(attr.pkey_tbl_len >= 1);
	MUST(attr.max_msg_sz >= BUFFER_SIZE);
	MUST_EQ(attr.link_layer, IBV_LINK_LAYER_ETHERNET);
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void no_such_port(void)
{
	struct rdma_cm_id *id = id_of_device();
	struct ibv_device_attr device;
	struct ibv_port_attr attr;

	MUST_EQ(ibv_query_device(id->verbs, &device), 0);
	MUST_EQ(ibv_query_port(id->verbs, (uint8_t)(device.phys_port_cnt + 1), &attr), EINVAL);
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void gids(void)
{
	struct rdma_cm_id *id = id_of_device();
	union address here = address_here(0);
	struct ibv_port_attr attr;
	bool found = false;

	if (here.any.sa_family != AF_INET)
		SKIP("ADDR is no IPv4 address");
	MUST_EQ(ibv_query_port(id->verbs, id->port_num, &attr), 0);
	for (int i = 0; i < attr.gid_tbl_len; i++) {
		union ibv_gid gid;

		if (ibv_query_gid(id->verbs, id->port_num, i, &gid) != 0)
			continue;
		found = found || (zeroed(gid.raw, 10) && gid.raw[10] == 0xff &&
					 memcmp(gid.raw + 12, &here.in.sin_addr, 4) == 0);
	}
	MUST(found);
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void no_such_gid(void)
{
	struct rdma_cm_id *id = id_of_device();
	struct ibv_port_attr attr;
	union ibv_gid gid;

	MUST_EQ(ibv_query_port(id->verbs, id->port_num, &attr), 0);
	MUST_EQ(ibv_query_gid(id->verbs, id->port_num, attr.gid_tbl_len, &gid), -1);
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void pkey(void)
{
	struct rdma_cm_id *id = id_of_device();
	__be16 key = 0;

	MUST_EQ(ibv_query_pkey(id->verbs, id->port_num, 0, &key), 0);
	MUST_EQ(ntohs(key), 0xffff);
	MUST_EQ(ibv_get_pkey_index(id->verbs, id->port_num, key), 0);
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void one_mebibyte(void)
{
	struct ibv_port_attr attr;
	struct pair p;

	PAIR(&p, .depth = 1);
	MUST_EQ(ibv_query_port(p.c.id->verbs, p.c.id->port_num, &attr), 0);
	MUST(attr.max_msg_sz >= 1 << 20);
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 1, .len = BUFFER_SIZE, AT(&p.s, 0));
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	pair_close(&p);
}

const struct check device_checks[] = { { "the id's device is in the list, which ends with NULL",
					       "ibv_get_device_list(3)", listed },
	{ "a device can be opened, and outlives the list", "ibv_open_device(3)", opened },
	{ "the id's context is in rdma_cm's list", "rdma_get_devices(3)", cm_devices },
	{ "the limits are of use, and the GUID is the device's",
		"ibv_query_device(3), ibv_get_device_guid(3)", attributes },
	{ "the extended query has the same limits", "ibv_query_device_ex(3)", extended_attributes },
	{ "the id's port is active, its link layer Ethernet", "ibv_query_port(3)", port },
	{ "a port that is not there cannot be queried: EINVAL", "ibv_query_port(3)", no_such_port },
	{ "the address is among the GIDs, mapped to IPv6", "ibv_query_gid(3), IBTA annex A17",
		gids },
	{ "there is no GID beyond the table", "ibv_query_gid(3)", no_such_gid },
	{ "the first partition key is the default", "ibv_query_pkey(3), ibv_get_pkey_index(3)",
		pkey },
	{ "a message of a mebibyte goes through in one piece", "ibv_query_port(3)", one_mebibyte },
	{ 0 } };
