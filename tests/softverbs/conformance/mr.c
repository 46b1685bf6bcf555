/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* mr.c - protection domains and memory regions */

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pair.h"

#define REGION 8192

/* a device, a domain and memory, as a check needs them */
struct room {
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	uint8_t *memory;
};

static void *memory_new(int protection)
{
	void *memory = mmap(NULL, REGION, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(memory != MAP_FAILED);
	return memory;
}

static void room_open(struct room *room)
{
	room->id = id_of_device();
	room->pd = ibv_alloc_pd(room->id->verbs);
	MUST(room->pd != NULL);
	room->memory = memory_new(PROT_READ | PROT_WRITE);
}

/* everything in it has been given back */
static void room_close(struct room *room)
{
	MUST_EQ(ibv_dealloc_pd(room->pd), 0);
	MUST_EQ(rdma_destroy_id(room->id), 0);
}

static void pd_fields(void)
{
	struct room room;

	room_open(&room);
	struct ibv_pd *other = ibv_alloc_pd(room.id->verbs);
	MUST(other != NULL);
	MUST(other != room.pd);
	MUST(other->context == room.id->verbs);
	MUST_EQ(ibv_dealloc_pd(other), 0);
	room_close(&room);
}

static void mr_fields(void)
{
	struct room room;

	room_open(&room);
	struct ibv_mr *mr = ibv_reg_mr(room.pd, room.memory + 3, 100, IBV_ACCESS_LOCAL_WRITE);
	MUST(mr != NULL);
	MUST(mr->addr == room.memory + 3);
	MUST_EQ(mr->length, 100);
	MUST(mr->pd == room.pd);
	MUST(mr->context == room.id->verbs);
	MUST_EQ(ibv_dereg_mr(mr), 0);
	room_close(&room);
}

static void keys_differ(void)
{
	struct ibv_mr *mrs[8];
	struct room room;

	room_open(&room);
	for (int i = 0; i < 8; i++) {
		mrs[i] = ibv_reg_mr(room.pd, room.memory, REGION, ALL_ACCESS);
		MUST(mrs[i] != NULL);
		for (int j = 0; j < i; j++) {
			MUST(mrs[i]->lkey != mrs[j]->lkey);
			MUST(mrs[i]->rkey != mrs[j]->rkey);
		}
	}
	for (int i = 0; i < 8; i++)
		MUST_EQ(ibv_dereg_mr(mrs[i]), 0);
	room_close(&room);
}

static void key_not_reused(void)
{
	struct room room;

	room_open(&room);
	struct ibv_mr *mr = ibv_reg_mr(room.pd, room.memory, REGION, ALL_ACCESS);
	MUST(mr != NULL);
	uint32_t rkey = mr->rkey;
	MUST_EQ(ibv_dereg_mr(mr), 0);
	mr = ibv_reg_mr(room.pd, room.memory, REGION, ALL_ACCESS);
	MUST(mr != NULL);
	MUST(mr->rkey != rkey);
	MUST_EQ(ibv_dereg_mr(mr), 0);
	room_close(&room);
}

/* this access is refused */
static void access_refused(int access)
{
	struct room room;

	room_open(&room);
	errno = 0;
	MUST(ibv_reg_mr(room.pd, room.memory, REGION, access) == NULL);
	MUST_EQ(errno, EINVAL);
	room_close(&room);
}

static void remote_write_alone(void)
{
	access_refused(IBV_ACCESS_REMOTE_WRITE);
}

static void remote_atomic_alone(void)
{
	access_refused(IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_REMOTE_READ);
}

static void remote_read_alone(void)
{
	struct room room;

	room_open(&room);
	struct ibv_mr *mr = ibv_reg_mr(room.pd, room.memory, REGION, IBV_ACCESS_REMOTE_READ);
	MUST(mr != NULL);
	MUST_EQ(ibv_dereg_mr(mr), 0);
	mr = ibv_reg_mr(room.pd, room.memory, REGION, 0);
	MUST(mr != NULL);
	MUST_EQ(ibv_dereg_mr(mr), 0);
	room_close(&room);
}

static void unmapped_memory(void)
{
	struct room room;

	room_open(&room);
	void *memory = memory_new(PROT_READ | PROT_WRITE);
	MUST_EQ(munmap(memory, REGION), 0);
	errno = 0;
	MUST(ibv_reg_mr(room.pd, memory, REGION, ALL_ACCESS) == NULL);
	MUST_EQ(errno, EFAULT);
	room_close(&room);
}

static void unmapped_tail(void)
{
	struct room room;

	room_open(&room);
	uint8_t *memory = memory_new(PROT_READ | PROT_WRITE);
	MUST_EQ(munmap(memory + 4096, 4096), 0);
	errno = 0;
	MUST(ibv_reg_mr(room.pd, memory, 4097, ALL_ACCESS) == NULL);
	MUST_EQ(errno, EFAULT);
	struct ibv_mr *mr = ibv_reg_mr(room.pd, memory, 4096, ALL_ACCESS);
	MUST(mr != NULL);
	MUST_EQ(ibv_dereg_mr(mr), 0);
	room_close(&room);
}

static void read_only_memory(void)
{
	struct room room;

	room_open(&room);
	void *memory = memory_new(PROT_READ);
	errno = 0;
	MUST(ibv_reg_mr(room.pd, memory, REGION, IBV_ACCESS_LOCAL_WRITE) == NULL);
	MUST_EQ(errno, EFAULT);
	room_close(&room);
}

static void pd_busy_region(void)
{
	struct room room;

	room_open(&room);
	struct ibv_mr *mr = ibv_reg_mr(room.pd, room.memory, REGION, ALL_ACCESS);
	MUST(mr != NULL);
	MUST_EQ(ibv_dealloc_pd(room.pd), EBUSY);
	MUST_EQ(ibv_dereg_mr(mr), 0);
	room_close(&room);
}

static void pd_busy_qp(void)
{
	struct room room;

	room_open(&room);
	struct ibv_cq *cq = ibv_create_cq(room.id->verbs, 4, NULL, NULL, 0);
	MUST(cq != NULL);
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *qp = ibv_create_qp(room.pd, &attr);
	MUST(qp != NULL);
	MUST_EQ(ibv_dealloc_pd(room.pd), EBUSY);
	MUST_EQ(ibv_destroy_qp(qp), 0);
	MUST_EQ(ibv_destroy_cq(cq), 0);
	room_close(&room);
}

static void contents_seen(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	fill(p.s.buf, 64, 1);
	POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = 1, .len = 64, AT(&p.s, 0));
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	MUST(filled(p.c.buf, 64, 1));
	fill(p.s.buf, 64, 2);
	POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = 2, .len = 64, AT(&p.s, 0));
	wc_expect(p.c.scq, 2, IBV_WC_SUCCESS);
	MUST(filled(p.c.buf, 64, 2));
	pair_close(&p);
}

static void read_from_access_zero(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	uint8_t *memory = memory_new(PROT_READ | PROT_WRITE);
	fill(memory, 64, 3);
	struct ibv_mr *mr = ibv_reg_mr(p.c.pd, memory, REGION, 0);
	MUST(mr != NULL);
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 1, .local = memory, .lkey = mr->lkey,
		.len = 64, AT(&p.s, 0));
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	MUST(filled(p.s.buf, 64, 3));
	MUST_EQ(ibv_dereg_mr(mr), 0);
	pair_close(&p);
}

static void overlapping_regions(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	struct ibv_mr *mr = ibv_reg_mr(p.s.pd, p.s.buf + 100, 64, IBV_ACCESS_REMOTE_READ);
	MUST(mr != NULL);
	fill(p.s.buf + 100, 64, 4);
	POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = 1, .len = 64,
		.remote = (uintptr_t)p.s.buf + 100, .rkey = mr->rkey);
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	MUST(filled(p.c.buf, 64, 4));
	MUST_EQ(ibv_dereg_mr(mr), 0);
	POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = 2, .at = 64, .len = 64, AT(&p.s, 100));
	wc_expect(p.c.scq, 2, IBV_WC_SUCCESS);
	MUST(filled(p.c.buf + 64, 64, 4));
	pair_close(&p);
}

static void iova(void)
{
	const uint64_t base = 0x70000000;
	struct pair p;

	PAIR(&p, .depth = 1);
	uint8_t *memory = memory_new(PROT_READ | PROT_WRITE);
	struct ibv_mr *mr = ibv_reg_mr_iova(p.s.pd, memory, REGION, base, ALL_ACCESS);
	MUST(mr != NULL);
	fill(memory + 1000, 64, 5);
	POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = 1, .len = 64, .remote = base + 1000,
		.rkey = mr->rkey);
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	MUST(filled(p.c.buf, 64, 5));
	POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = 2, .len = 64, .remote = (uintptr_t)memory,
		.rkey = mr->rkey);
	wc_expect(p.c.scq, 2, IBV_WC_REM_ACCESS_ERR);
	MUST_EQ(ibv_dereg_mr(mr), 0);
	pair_close(&p);
}

const struct check mr_checks[] = { { "domains are distinct, and belong to the context",
					   "ibv_alloc_pd(3)", pd_fields },
	{ "a region has the address, length and domain it was given", "ibv_reg_mr(3)", mr_fields },
	{ "regions of the same memory have keys of their own", "ibv_reg_mr(3)", keys_differ },
	{ "a key is not given to the next region", "ibv_dereg_mr(3)", key_not_reused },
	{ "remote write needs local write: EINVAL", "ibv_reg_mr(3)", remote_write_alone },
	{ "remote atomic needs local write: EINVAL", "ibv_reg_mr(3)", remote_atomic_alone },
	{ "remote read, or nothing, can stand alone", "ibv_reg_mr(3)", remote_read_alone },
	{ "memory that is not there cannot be registered: EFAULT", "ibv_reg_mr(3)",
		unmapped_memory },
	{ "nor memory of which the last byte is missing", "ibv_reg_mr(3)", unmapped_tail },
	{ "nor memory that cannot be written, for writing", "ibv_reg_mr(3)", read_only_memory },
	{ "a domain with a region is busy", "ibv_dealloc_pd(3)", pd_busy_region },
	{ "a domain with a QP is busy", "ibv_dealloc_pd(3)", pd_busy_qp },
	{ "a region is the program's memory, not a copy", "ibv_reg_mr(3)", contents_seen },
	{ "local read is always allowed", "ibv_reg_mr(3)", read_from_access_zero },
	{ "a region inside another comes and goes without it", "ibv_reg_mr(3)",
		overlapping_regions },
	{ "a region with an address of choice is reached by that one only", "ibv_reg_mr_iova(3)",
		iova },
	{ 0 } };
