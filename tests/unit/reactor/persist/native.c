/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * native.c - a device that flushes and writes atomically by itself: one list, one doorbell
 *
 * The extended queue pair is made here, whatever the headers know: its calls collect a list, which
 * is posted to the double when it is complete, all of it or nothing.
 */

#include <arpa/inet.h>
#include <infiniband/verbs.h>

#include "rig.h"

#define VISIBILITY RPMA_FLUSH_TYPE_VISIBILITY
#define PERSISTENT RPMA_FLUSH_TYPE_PERSISTENT
#define HALF       (RIG_MEM_SIZE / 2)
#define MOST       200

enum sort { PLAIN, FLUSH, ATOMIC_WRITE };

static struct {
	struct ibv_qp_ex ex;
	struct ibv_qp *qp;
	bool can_flush, can_atomic_write;
	uint64_t refused; /* work requests to this address are; 0: none */
	unsigned lists; /* that were begun */

	/* the list */
	struct ibv_send_wr wr[MOST];
	struct ibv_sge sge[MOST];
	char word[MOST][8];
	unsigned n;
	int error;

	/* of all work requests that were posted, their sorts; and the last flush */
	enum sort sorts[MOST];
	unsigned posted;
	struct {
		uint64_t addr;
		size_t len;
		uint32_t rkey;
		enum rpma_flush_type type;
		unsigned flags;
	} flush;
} device;

static enum sort sorts[MOST]; /* of the list */

static struct ibv_send_wr *add(enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t addr)
{
	struct ibv_send_wr *wr = &device.wr[device.n];

	assert_true(device.n < MOST);
	sorts[device.n] = PLAIN;
	device.n++;
	*wr = (struct ibv_send_wr){
		.wr_id = device.ex.wr_id,
		.send_flags = device.ex.wr_flags,
		.opcode = opcode,
		.next = wr + 1,
		.wr.rdma = { addr, rkey },
	};
	if (addr != 0 && addr == device.refused)
		device.error = ENOMEM;
	return wr;
}

static void wr_start(struct ibv_qp_ex *qp)
{
	assert_ptr_equal(qp, &device.ex);
	device.lists++;
	device.n = 0;
	device.error = 0;
}

static int wr_complete(struct ibv_qp_ex *qp)
{
	struct ibv_send_wr *bad;
	int ret;

	(void)qp;
	assert_true(device.n > 0);
	if (device.error)
		return device.error;
	device.wr[device.n - 1].next = NULL;
	ret = ibv_post_send(device.qp, device.wr, &bad);
	for (unsigned i = 0; i < device.n && ret == 0; i++)
		device.sorts[device.posted++] = sorts[i];
	return ret;
}

static void wr_rdma_read(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr)
{
	(void)qp;
	add(IBV_WR_RDMA_READ, rkey, addr);
}

static void wr_rdma_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr)
{
	(void)qp;
	add(IBV_WR_RDMA_WRITE, rkey, addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, __be32 imm)
{
	(void)qp;
	add(IBV_WR_RDMA_WRITE_WITH_IMM, rkey, addr)->imm_data = imm;
}

static void wr_send(struct ibv_qp_ex *qp)
{
	(void)qp;
	add(IBV_WR_SEND, 0, 0);
}

static void wr_send_imm(struct ibv_qp_ex *qp, __be32 imm)
{
	(void)qp;
	add(IBV_WR_SEND_WITH_IMM, 0, 0)->imm_data = imm;
}

static void wr_set_sge_list(struct ibv_qp_ex *qp, size_t n, const struct ibv_sge *sge)
{
	struct ibv_send_wr *wr = &device.wr[device.n - 1];

	(void)qp;
	assert_true(n <= 1);
	assert_false(wr->send_flags & IBV_SEND_INLINE);
	wr->sg_list = &device.sge[device.n - 1];
	wr->num_sge = (int)n;
	if (n > 0)
		wr->sg_list[0] = sge[0];
}

static void set_inline(const void *data, size_t len)
{
	struct ibv_send_wr *wr = &device.wr[device.n - 1];

	assert_int_equal(len, 8);
	memcpy(device.word[device.n - 1], data, len);
	wr->sg_list = &device.sge[device.n - 1];
	wr->num_sge = 1;
	wr->sg_list[0] = (struct ibv_sge){ (uintptr_t)device.word[device.n - 1], 8, 0 };
	wr->send_flags |= IBV_SEND_INLINE;
}

static void wr_set_inline_data(struct ibv_qp_ex *qp, void *data, size_t len)
{
	(void)qp;
	set_inline(data, len);
}

/* ---- in the place of the core's */

struct ibv_qp_ex *__wrap_rpma__native_qp(struct ibv_qp *qp);
bool __wrap_rpma__native_can_flush(const struct ibv_qp_ex *qp);
bool __wrap_rpma__native_can_atomic_write(const struct ibv_qp_ex *qp);
void __wrap_rpma__native_add_flush(struct ibv_qp_ex *qp, uint64_t wr_id, unsigned flags,
	uint32_t rkey, uint64_t addr, size_t len, enum rpma_flush_type type);
void __wrap_rpma__native_add_atomic_write(struct ibv_qp_ex *qp, uint64_t wr_id, unsigned flags,
	uint32_t rkey, uint64_t addr, const char src[8]);

struct ibv_qp_ex *__wrap_rpma__native_qp(struct ibv_qp *qp)
{
	device.qp = qp;
	return device.can_flush || device.can_atomic_write ? &device.ex : NULL;
}

bool __wrap_rpma__native_can_flush(const struct ibv_qp_ex *qp)
{
	return qp != NULL && device.can_flush;
}

bool __wrap_rpma__native_can_atomic_write(const struct ibv_qp_ex *qp)
{
	return qp != NULL && device.can_atomic_write;
}

void __wrap_rpma__native_add_flush(struct ibv_qp_ex *qp, uint64_t wr_id, unsigned flags,
	uint32_t rkey, uint64_t addr, size_t len, enum rpma_flush_type type)
{
	qp->wr_id = wr_id;
	qp->wr_flags = flags;
	add(IBV_WR_RDMA_READ, rkey, addr); /* of nothing: the double knows no better */
	sorts[device.n - 1] = FLUSH;
	device.flush.addr = addr;
	device.flush.len = len;
	device.flush.rkey = rkey;
	device.flush.type = type;
	device.flush.flags = flags;
}

void __wrap_rpma__native_add_atomic_write(struct ibv_qp_ex *qp, uint64_t wr_id, unsigned flags,
	uint32_t rkey, uint64_t addr, const char src[8])
{
	qp->wr_id = wr_id;
	qp->wr_flags = flags;
	add(IBV_WR_RDMA_WRITE, rkey, addr);
	set_inline(src, 8);
	sorts[device.n - 1] = ATOMIC_WRITE;
}

/* ---- what the tests share */

static struct rig_op ops[8];
static const char word[8] = { 'e', 'i', 'g', 'h', 't', ' ', 'b', 'y' };

/* a region that the peer's device can flush by itself */
static struct rpma_mr_local *mr;
static struct rpma_mr_remote *remote;

static int setup(void **state)
{
	(void)rig_setup(state);
	memset(&device, 0, sizeof(device));
	device.can_flush = true;
	device.can_atomic_write = true;
	device.ex = (struct ibv_qp_ex){
		.wr_start = wr_start,
		.wr_complete = wr_complete,
		.wr_rdma_read = wr_rdma_read,
		.wr_rdma_write = wr_rdma_write,
		.wr_rdma_write_imm = wr_rdma_write_imm,
		.wr_send = wr_send,
		.wr_send_imm = wr_send_imm,
		.wr_set_sge_list = wr_set_sge_list,
		.wr_set_inline_data = wr_set_inline_data,
	};
	mr = unit_mr(rig.peer, rig.mem, RIG_MEM_SIZE,
		RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_WRITE_DST |
			RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY | RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT);
	remote = unit_mr_remote(mr);
	return 0;
}

static int teardown(void **state)
{
	rig_close();
	assert_int_equal(rpma_mr_remote_delete(&remote), 0);
	assert_int_equal(rpma_mr_dereg(&mr), 0);
	return rig_teardown(state);
}

#define NATIVE_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

static rpma_uv_remote_t at(size_t offset)
{
	return (rpma_uv_remote_t){ remote, offset };
}

static void ready(struct rig_conn *c, uint32_t sq_size)
{
	rig_conn_ready_sizes(c, sq_size, 10);
	rig_direct_write(c, true);
}

static void flush(struct rig_conn *c, struct rig_op *op, size_t offset, size_t len, unsigned flags)
{
	rig_watch(rpma_uv_flush(c->conn, &op->op, at(offset), len, PERSISTENT, flags), &op->done);
}

static void atomic_write(struct rig_conn *c, struct rig_op *op, size_t offset, unsigned flags)
{
	rig_watch(rpma_uv_atomic_write(c->conn, &op->op, at(offset), word, flags), &op->done);
}

static void assert_all(unsigned n, int status)
{
	for (unsigned i = 0; i < n; i++)
		assert_done(ops[i].done, status);
}

/* ---- the tests */

/* the range and the type as they are, no place to read to */
static void native__flush(void **state)
{
	static const size_t lengths[] = { 0, 1, HALF };
	unsigned regions;
	struct rig_conn c;

	(void)state;
	ready(&c, 100);
	regions = double_live(DOUBLE_MR);
	for (unsigned i = 0; i < 3; i++) {
		rig_watch(rpma_uv_flush(c.conn, &ops[0].op, at(HALF), lengths[i],
				  i % 2 ? VISIBILITY : PERSISTENT, 0),
			&ops[0].done);
		rig_settle();
		assert_int_equal(device.posted, i + 1);
		assert_int_equal(device.sorts[i], FLUSH);
		assert_int_equal(device.flush.addr, (uintptr_t)rig.mem + HALF);
		assert_int_equal(device.flush.len, lengths[i]);
		assert_int_equal(device.flush.type, i % 2 ? VISIBILITY : PERSISTENT);
		assert_int_equal(device.flush.flags, IBV_SEND_SIGNALED);
		double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
		rig_settle();
		assert_done(ops[0].done, 0);
		assert_int_equal(ops[0].done.result, lengths[i]);
	}
	assert_int_equal(double_live(DOUBLE_MR), regions);
}

/* where the region, the flags or the device does not allow it, it is the read */
static void native__flush_emulated(void **state)
{
	struct rig_conn c;

	(void)state;
	ready(&c, 100);
	flush(&c, &ops[0], 0, 8, RPMA_F_EMULATED);
	/* the rig's own region is not one that a device flushes by itself */
	rig_watch(rpma_uv_flush(c.conn, &ops[1].op, rig_remote(0), 8, PERSISTENT, 0), &ops[1].done);
	device.can_flush = false;
	flush(&c, &ops[2], 0, 8, 0);
	rig_settle();
	assert_int_equal(device.lists, 0);
	assert_int_equal(double_pending_sends(c.qp), 3);
	assert_int_equal(double_pending_send(c.qp, 2)->sge[0].length, 8);
	double_complete_send(c.qp, 3, IBV_WC_SUCCESS);
	rig_settle();
	assert_all(3, 0);
}

/* the value of the call, fenced; it needs no inline data of the queue pair's */
static void native__atomic_write(void **state)
{
	struct rig_conn c;

	(void)state;
	double_device.max_inline = 0;
	ready(&c, 100);
	atomic_write(&c, &ops[0], 64, RPMA_F_EMULATED);
	rig_settle();
	assert_done(ops[0].done, UV_ENOTSUP);
	rig_conn_gone(&c);
	double_device.max_inline = 8;
	ready(&c, 100);
	atomic_write(&c, &ops[0], 64, 0);
	atomic_write(&c, &ops[1], 72, RPMA_F_EMULATED);
	rig_settle();
	assert_int_equal(device.posted, 2);
	assert_int_equal(double_send_doorbells(c.qp), 1);
	assert_int_equal(device.sorts[0], ATOMIC_WRITE);
	assert_int_equal(device.sorts[1], PLAIN);
	for (unsigned i = 0; i < 2; i++) {
		const struct double_wr *wr = double_pending_send(c.qp, i);

		assert_int_equal(wr->opcode, IBV_WR_RDMA_WRITE);
		assert_int_equal(
			wr->send_flags, IBV_SEND_FENCE | IBV_SEND_INLINE | IBV_SEND_SIGNALED);
	}
	double_complete_send(c.qp, 2, IBV_WC_SUCCESS);
	rig_settle();
	assert_all(2, 0);
	assert_memory_equal(rig.mem + 64, word, 8);
	assert_memory_equal(rig.mem + 72, word, 8);
	device.can_atomic_write = false;
	atomic_write(&c, &ops[0], 64, 0);
	rig_settle();
	assert_int_equal(device.lists, 1);
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	rig_settle();
	assert_all(1, 0);
}

/* every operation in one list with them: the same work requests, one doorbell */
static void native__one_list(void **state)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
		IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_READ };
	struct rig_conn c;

	(void)state;
	ready(&c, 100);
	rig_write(&c, &ops[0], 100);
	rig_read(&c, &ops[1], 200);
	rig_watch(rpma_uv_write_with_imm(
			  c.conn, &ops[2].op, rig_remote(HALF), rig_local(0), 300, 0, 7),
		&ops[2].done);
	rig_send(&c, &ops[3], 0);
	rig_watch(rpma_uv_send_with_imm(c.conn, &ops[4].op, rig_local(0), 500, 0, 8), &ops[4].done);
	atomic_write(&c, &ops[5], 0, 0);
	flush(&c, &ops[6], 0, 8, 0);
	rig_settle();
	assert_int_equal(device.lists, 1);
	assert_int_equal(double_send_doorbells(c.qp), 1);
	assert_int_equal(double_pending_sends(c.qp), 7);
	for (unsigned i = 0; i < 7; i++) {
		const struct double_wr *wr = double_pending_send(c.qp, i);

		assert_int_equal(wr->opcode, opcodes[i]);
		assert_int_equal(wr->num_sge, i != 3 && i != 6);
		if (i < 5 && i != 3)
			assert_int_equal(wr->sge[0].length, (i + 1) * 100);
		if (i < 3)
			assert_int_equal(wr->remote_addr, (uintptr_t)rig.mem + HALF);
		assert_int_equal(!!(wr->send_flags & IBV_SEND_SIGNALED), i == 1 || i >= 5);
	}
	assert_int_equal(double_pending_send(c.qp, 2)->imm, htonl(7));
	assert_int_equal(double_pending_send(c.qp, 4)->imm, htonl(8));
	assert_int_equal(double_complete_send(c.qp, 7, IBV_WC_SUCCESS), 7);
	rig_settle();
	assert_all(7, 0);
}

/* persist: the flush covers from the first to the last byte of the pieces */
static void native__persist(void **state)
{
	static rpma_uv_piece_t pieces[3];
	struct rig_conn c;

	(void)state;
	ready(&c, 100);
	pieces[0] = (rpma_uv_piece_t){ rig_local(0), at(HALF + 1000), 100 };
	pieces[1] = (rpma_uv_piece_t){ rig_local(0), at(HALF + 5000), 7 };
	pieces[2] = (rpma_uv_piece_t){ rig_local(0), at(HALF + 500), 10 };
	rig_watch(rpma_uv_persist(c.conn, &ops[0].op, pieces, 3, PERSISTENT, 0), &ops[0].done);
	rig_settle();
	assert_int_equal(double_send_doorbells(c.qp), 1);
	assert_int_equal(device.posted, 4);
	assert_int_equal(device.sorts[3], FLUSH);
	assert_int_equal(device.flush.addr, (uintptr_t)rig.mem + HALF + 500);
	assert_int_equal(device.flush.len, 4507);
	assert_int_equal(device.flush.rkey, double_pending_send(c.qp, 0)->rkey);
	double_complete_send(c.qp, 4, IBV_WC_SUCCESS);
	rig_settle();
	assert_all(1, 0);
	assert_int_equal(ops[0].done.result, 117);
}

/* both need one of the read depth */
static void native__take_read_depth(void **state)
{
	struct rig_conn c;

	(void)state;
	double_device.max_rd_atomic = 1;
	ready(&c, 100);
	atomic_write(&c, &ops[0], 0, 0);
	flush(&c, &ops[1], 0, 8, 0);
	atomic_write(&c, &ops[2], 8, 0);
	for (unsigned i = 0; i < 3; i++) {
		rig_settle();
		assert_int_equal(double_pending_sends(c.qp), 1);
		assert_int_equal(double_complete_send(c.qp, 1, IBV_WC_SUCCESS), 1);
	}
	rig_settle();
	assert_all(3, 0);
}

/* the k-th of a list is refused: it ends, the others are posted, one at a time up to it */
static void native__kth_refused(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 4; k++) {
		struct rig_conn c;

		device.posted = 0;
		device.refused = (uintptr_t)rig.mem + k * 8;
		ready(&c, 100);
		for (unsigned i = 0; i < 4; i++) {
			if (i % 2)
				rig_watch(rpma_uv_read(c.conn, &ops[i].op, rig_local(0), at(i * 8),
						  8, 0),
					&ops[i].done);
			else
				flush(&c, &ops[i], i * 8, 8, 0);
		}
		rig_settle();
		assert_int_equal(double_complete_send(c.qp, 4, IBV_WC_SUCCESS), 3);
		rig_settle();
		for (unsigned i = 0; i < 4; i++)
			assert_done(ops[i].done, i == k ? UV_ENOMEM : 0);
		rig_conn_gone(&c);
	}
}

/* a list is refused once, and then each of it is taken: nobody notices */
static void native__refused_once(void **state)
{
	struct rig_conn c;

	(void)state;
	ready(&c, 100);
	rig_write(&c, &ops[0], 8);
	flush(&c, &ops[1], 0, 8, 0);
	double_fail("ibv_post_send", 1, ENOMEM);
	rig_settle();
	assert_int_equal(device.posted, 2);
	double_complete_send(c.qp, 2, IBV_WC_SUCCESS);
	rig_settle();
	assert_all(2, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		NATIVE_TEST(native__flush),
		NATIVE_TEST(native__flush_emulated),
		NATIVE_TEST(native__atomic_write),
		NATIVE_TEST(native__one_list),
		NATIVE_TEST(native__persist),
		NATIVE_TEST(native__take_read_depth),
		NATIVE_TEST(native__kth_refused),
		NATIVE_TEST(native__refused_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
