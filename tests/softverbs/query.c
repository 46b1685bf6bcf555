/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* query.c - what the device says about itself */

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#ifdef SV_HAS_NATIVE
#include <rdma/ib_user_verbs.h>
#endif
#include <stdio.h>
#include <string.h>

#include "cm.h"
#include "cq.h"
#include "device.h"
#include "fault.h"
#include "qp.h"
#include "srq.h"

#undef ibv_query_port

#define GIDS 32
#define PKEY 0xffff
#define GUID UINT64_C(0x0200736f66747662) /* locally administered */

SV_EXPORT int ibv_query_port(
	struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr);
SV_EXPORT int ibv_query_gid_type(
	struct ibv_context *context, uint8_t port, unsigned index, int *type);

void sv_fill_device_attr(struct ibv_device_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	snprintf(attr->fw_ver, sizeof(attr->fw_ver), "softverbs");
	attr->node_guid = htobe64(GUID);
	attr->sys_image_guid = htobe64(GUID);
	attr->max_mr_size = UINT64_MAX;
	attr->page_size_cap = 0xfffff000;
	attr->vendor_id = 0xffffff;
	attr->max_qp = 0xffff;
	attr->max_qp_wr = SV_MAX_WR;
	attr->device_cap_flags = IBV_DEVICE_BAD_QKEY_CNTR | IBV_DEVICE_CURR_QP_STATE_MOD |
				 IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_RC_RNR_NAK_GEN |
				 IBV_DEVICE_SRQ_RESIZE;
	attr->max_sge = SV_MAX_SGE;
	attr->max_sge_rd = SV_MAX_SGE;
	attr->max_cq = 0xffff;
	attr->max_cqe = SV_MAX_CQE;
	attr->max_mr = 0xfffff;
	attr->max_pd = 0xffff;
	attr->max_qp_rd_atom = SV_MAX_RD_ATOMIC;
	attr->max_res_rd_atom = SV_MAX_RD_ATOMIC * 0xffff;
	attr->max_qp_init_rd_atom = SV_MAX_RD_ATOMIC;
	attr->atomic_cap = IBV_ATOMIC_GLOB;
	attr->max_ah = 0xffff;
	attr->max_srq = 0xffff;
	attr->max_srq_wr = SV_MAX_WR;
	attr->max_srq_sge = SV_MAX_SGE;
	attr->max_pkeys = 1;
	attr->local_ca_ack_delay = 15;
	attr->phys_port_cnt = 1;
}

static int query_device_ex(struct ibv_context *context,
	const struct ibv_query_device_ex_input *input, struct ibv_device_attr_ex *attr, size_t size)
{
	struct ibv_device_attr_ex all = { 0 };

	(void)context;
	if (input != NULL && input->comp_mask != 0)
		return EINVAL;
	if (size < sizeof(all.orig_attr))
		return EINVAL;
	sv_fill_device_attr(&all.orig_attr);
	all.phys_port_cnt_ex = 1;
#ifdef SV_HAS_NATIVE
	all.device_cap_flags_ex = IB_UVERBS_DEVICE_ATOMIC_WRITE | IB_UVERBS_DEVICE_FLUSH_GLOBAL |
				  IB_UVERBS_DEVICE_FLUSH_PERSISTENT;
#endif
	memcpy(attr, &all, size < sizeof(all) ? size : sizeof(all));
	return 0;
}

static int query_port(
	struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr, size_t size)
{
	struct ibv_port_attr all = {
		.state = IBV_PORT_ACTIVE,
		.max_mtu = IBV_MTU_4096,
		.active_mtu = IBV_MTU_4096,
		.gid_tbl_len = GIDS,
		.port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS,
		.pkey_tbl_len = 1,
		.max_vl_num = 1,
		.active_width = 2,
		.active_speed = 32,
		.phys_state = 5,
		.link_layer = IBV_LINK_LAYER_ETHERNET,
	};

	if (port != 1)
		return EINVAL;
	sv_lock();
	all.max_msg_sz = sv_max_msg();
	if (sv_context(context)->gone)
		all.state = IBV_PORT_DOWN;
	sv_unlock();
	memcpy(attr, &all, size < sizeof(all) ? size : sizeof(all));
	return 0;
}

void sv_fill_operations(struct verbs_context *verbs)
{
	verbs->query_port = query_port;
	verbs->query_device_ex = query_device_ex;
	verbs->create_qp_ex = sv_create_qp_ex;
	verbs->context.ops.poll_cq = sv_poll_cq;
	verbs->context.ops.req_notify_cq = sv_req_notify_cq;
	verbs->context.ops.post_send = sv_post_send;
	verbs->context.ops.post_recv = sv_post_recv;
	verbs->context.ops.post_srq_recv = sv_post_srq_recv;
}

SV_EXPORT int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	if (!sv_enter_live(context))
		return errno;
	sv_unlock();
	sv_fill_device_attr(attr);
	return 0;
}

/* programs of an old ABI own a structure that ends before port_cap_flags2 */
int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	return query_port(context, port, (struct ibv_port_attr *)attr,
		offsetof(struct ibv_port_attr, port_cap_flags2));
}

/* GIDs are those of RoCE v2: one for each address of an interface that is up, loopback first */
static int gid_at(unsigned index, union ibv_gid *gid, unsigned *ifindex)
{
	struct ifaddrs *all;
	unsigned n = 0;
	int found = ENODATA;

	if (index >= GIDS)
		return EINVAL;
	if (getifaddrs(&all) != 0)
		return errno;
	memset(gid, 0, sizeof(*gid));
	for (int pass = 0; pass < 2; pass++) {
		for (struct ifaddrs *i = all; i != NULL && found != 0; i = i->ifa_next) {
			bool loopback = (i->ifa_flags & IFF_LOOPBACK) != 0;

			if (i->ifa_addr == NULL || sv_addr_length(i->ifa_addr) == 0 ||
				!(i->ifa_flags & IFF_UP) || loopback != (pass == 0))
				continue;
			if (n++ != index)
				continue;
			sv_addr_gid(i->ifa_addr, gid);
			*ifindex = if_nametoindex(i->ifa_name);
			found = 0;
		}
	}
	freeifaddrs(all);
	return found;
}

SV_EXPORT int ibv_query_gid(
	struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
	unsigned ifindex;
	int ret;

	(void)context;
	ret = port == 1 && index >= 0 ? gid_at((unsigned)index, gid, &ifindex) : EINVAL;
	if (ret == 0 || ret == ENODATA) /* an empty entry reads as zeros */
		return 0;
	errno = ret;
	return -1;
}

SV_EXPORT int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index,
	struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
	struct ibv_gid_entry e = { .gid_index = index, .port_num = port };
	int ret;

	(void)context;
	if (port != 1 || flags != 0 || size < sizeof(e))
		return EINVAL;
	ret = gid_at(index, &e.gid, &e.ndev_ifindex);
	if (ret != 0)
		return ret;
	e.gid_type = IBV_GID_TYPE_ROCE_V2;
	memcpy(entry, &e, sizeof(e));
	return 0;
}

SV_EXPORT ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
	size_t max, uint32_t flags, size_t size)
{
	size_t n = 0;

	if (size != sizeof(*entries))
		return -EINVAL;
	while (n < max && n < GIDS &&
		_ibv_query_gid_ex(context, 1, (uint32_t)n, &entries[n], flags, size) == 0)
		n++;
	return (ssize_t)n;
}

/* private to rdma-core, but its own ibv_devinfo calls it; 1 is its number for RoCE v2 */
SV_EXPORT int ibv_query_gid_type(
	struct ibv_context *context, uint8_t port, unsigned index, int *type)
{
	(void)context;
	if (port != 1 || index >= GIDS) {
		errno = EINVAL;
		return -1;
	}
	*type = 1;
	return 0;
}

SV_EXPORT int ibv_query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *pkey)
{
	(void)context;
	if (port != 1 || index != 0)
		return -1;
	*pkey = htobe16(PKEY);
	return 0;
}

SV_EXPORT int ibv_get_pkey_index(struct ibv_context *context, uint8_t port, __be16 pkey)
{
	(void)context;
	return port == 1 && be16toh(pkey) == PKEY ? 0 : -1;
}
