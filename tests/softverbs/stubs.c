/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * stubs.c - the other exported symbols of the two libraries
 *
 * None of them may reach the real library with pointers of ours, so each is here and fails cleanly.
 * Their types do not matter, since arguments are not looked at: how they say "no" does. No header of
 * theirs is included. Internals of the libraries (IBVERBS_PRIVATE_*) are left alone, but for one that
 * ibv_devinfo calls (query.c).
 */

#include <errno.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

/* -1 with errno */
#define MINUS(name)             \
	EXPORT long name(void); \
	EXPORT long name(void)  \
	{                       \
		errno = ENOSYS; \
		return -1;      \
	}

/* the errno itself */
#define CODE(name)              \
	EXPORT int name(void);  \
	EXPORT int name(void)   \
	{                       \
		errno = ENOSYS; \
		return ENOSYS;  \
	}

/* NULL with errno */
#define POINTER(name)            \
	EXPORT void *name(void); \
	EXPORT void *name(void)  \
	{                        \
		errno = ENOSYS;  \
		return NULL;     \
	}

/* nothing */
#define NOTHING(name)           \
	EXPORT void name(void); \
	EXPORT void name(void)  \
	{                       \
	}

CODE(ibv_attach_mcast)
CODE(ibv_detach_mcast)
CODE(ibv_dofork_range)
CODE(ibv_dontfork_range)
CODE(ibv_query_ece)
CODE(ibv_set_ece)

MINUS(ibv_init_ah_from_wc)
MINUS(ibv_read_sysfs_file)
MINUS(ibv_rereg_mr)
MINUS(ibv_resolve_eth_l2_from_gid)

POINTER(ibv_create_ah_from_wc)
POINTER(ibv_get_sysfs_path)
POINTER(ibv_import_device)
POINTER(ibv_import_dm)
POINTER(ibv_import_mr)
POINTER(ibv_import_pd)
POINTER(ibv_reg_dmabuf_mr)

NOTHING(ibv_copy_ah_attr_from_kern)
NOTHING(ibv_copy_path_rec_from_kern)
NOTHING(ibv_copy_path_rec_to_kern)
NOTHING(ibv_copy_qp_attr_from_kern)
NOTHING(ibv_register_driver)
NOTHING(ibv_unimport_dm)
NOTHING(ibv_unimport_mr)
NOTHING(ibv_unimport_pd)

MINUS(rdma_create_srq_ex)
MINUS(rdma_get_remote_ece)
MINUS(rdma_join_multicast)
MINUS(rdma_join_multicast_ex)
MINUS(rdma_leave_multicast)
MINUS(rdma_set_local_ece)

MINUS(raccept)
MINUS(rbind)
MINUS(rclose)
MINUS(rconnect)
MINUS(rfcntl)
MINUS(rgetpeername)
MINUS(rgetsockname)
MINUS(rgetsockopt)
MINUS(riomap)
MINUS(riounmap)
MINUS(riowrite)
MINUS(rlisten)
MINUS(rpoll)
MINUS(rread)
MINUS(rreadv)
MINUS(rrecv)
MINUS(rrecvfrom)
MINUS(rrecvmsg)
MINUS(rselect)
MINUS(rsend)
MINUS(rsendmsg)
MINUS(rsendto)
MINUS(rsetsockopt)
MINUS(rshutdown)
MINUS(rsocket)
MINUS(rwrite)
MINUS(rwritev)
