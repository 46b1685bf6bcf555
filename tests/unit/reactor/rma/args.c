/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* args.c - what read, write, send and receive refuse, and how */

#include "rig.h"

enum what { READ, WRITE, WRITE_IMM, SEND, SEND_IMM, RECV };

#define IS_MESSAGE(what) ((what) >= SEND)

static int status_of(struct rig_conn *c, enum what what, rpma_uv_local_t at, rpma_uv_remote_t from,
	size_t len, unsigned flags)
{
	struct rig_done done;
	rpma_uv_future_t *f;
	rpma_uv_op_t op;

	switch (what) {
	case READ:
		f = rpma_uv_read(c->conn, &op, at, from, len, flags);
		break;
	case WRITE:
		f = rpma_uv_write(c->conn, &op, from, at, len, flags);
		break;
	case WRITE_IMM:
		f = rpma_uv_write_with_imm(c->conn, &op, from, at, len, flags, 1);
		break;
	case SEND:
		f = rpma_uv_send(c->conn, &op, at, len, flags);
		break;
	case SEND_IMM:
		f = rpma_uv_send_with_imm(c->conn, &op, at, len, flags, 1);
		break;
	default:
		f = rpma_uv_recv(c->conn, &op, at, len);
		break;
	}
	assert_ptr_equal(f, &op.future);
	rig_watch(f, &done);
	assert_int_equal(done.times, 0);
	rig_settle();
	if (done.times == 0) { /* posted */
		assert_int_equal(double_pending_sends(c->qp) + double_pending_recvs(c->qp), 1);
		if (what == RECV)
			assert_true(double_deliver(c->qp, "", 0, NULL));
		else
			assert_int_equal(double_complete_send(c->qp, 1, IBV_WC_SUCCESS), 1);
		RIG_UNTIL(done.times > 0);
	}
	assert_int_equal(done.times, 1);
	return done.status;
}

/* ranges: inside, at the end, across it, beyond every end */
static void args__ranges(void **state)
{
	static const struct {
		size_t offset, len;
		int expected;
	} cases[] = {
		{ 0, 1, 0 },
		{ 0, RIG_MEM_SIZE, 0 },
		{ RIG_MEM_SIZE, 0, 0 },
		{ RIG_MEM_SIZE - 1, 1, 0 },
		{ RIG_MEM_SIZE - 1, 2, UV_EINVAL },
		{ RIG_MEM_SIZE + 1, 0, UV_EINVAL },
		{ 0, RIG_MEM_SIZE + 1, UV_EINVAL },
		{ 1, SIZE_MAX, UV_EINVAL },
		{ SIZE_MAX, 1, UV_EINVAL },
		{ 0, (size_t)UINT32_MAX + 2, UV_EINVAL },
	};
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (int what = READ; what <= RECV; what++)
			assert_int_equal(status_of(&c, (enum what)what, rig_local(cases[i].offset),
						 rig_remote(cases[i].offset), cases[i].len, 0),
				cases[i].expected);
	}
	/* both ends count */
	for (int what = READ; !IS_MESSAGE(what); what++) {
		assert_int_equal(status_of(&c, (enum what)what, rig_local(0),
					 rig_remote(RIG_MEM_SIZE), 1, 0),
			UV_EINVAL);
		assert_int_equal(status_of(&c, (enum what)what, rig_local(RIG_MEM_SIZE),
					 rig_remote(0), 1, 0),
			UV_EINVAL);
	}
}

/* no region: only with nothing else, and for reads and writes on both ends */
static void args__no_region(void **state)
{
	const rpma_uv_local_t nowhere = { NULL, 0 }, off = { NULL, 1 };
	const rpma_uv_remote_t no_remote = { NULL, 0 }, off_remote = { NULL, 1 };
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	for (int what = READ; what <= RECV; what++) {
		assert_int_equal(status_of(&c, (enum what)what, nowhere, no_remote, 0, 0), 0);
		assert_int_equal(
			status_of(&c, (enum what)what, nowhere, no_remote, 1, 0), UV_EINVAL);
		assert_int_equal(status_of(&c, (enum what)what, off, no_remote, 0, 0), UV_EINVAL);
	}
	for (int what = READ; !IS_MESSAGE(what); what++) {
		enum what it = (enum what)what;

		assert_int_equal(status_of(&c, it, nowhere, rig_remote(0), 0, 0), UV_EINVAL);
		assert_int_equal(status_of(&c, it, rig_local(0), no_remote, 0, 0), UV_EINVAL);
		assert_int_equal(status_of(&c, it, nowhere, off_remote, 0, 0), UV_EINVAL);
	}
}

/* no piece of memory is given to the device for zero bytes */
static void args__zero_bytes(void **state)
{
	static struct rig_op ops[5];
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_watch(
		rpma_uv_read(c.conn, &ops[0].op, rig_local(0), rig_remote(8), 0, 0), &ops[0].done);
	rig_watch(rpma_uv_read(c.conn, &ops[1].op, (rpma_uv_local_t){ NULL, 0 },
			  (rpma_uv_remote_t){ NULL, 0 }, 0, 0),
		&ops[1].done);
	rig_send(&c, &ops[2], 0);
	rig_write(&c, &ops[3], 0);
	rig_recv(&c, &ops[4], 0);
	rig_settle();
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(double_pending_send(c.qp, i)->num_sge, 0);
	assert_int_equal(double_pending_recv(c.qp, 0)->num_sge, 0);
	double_complete_send(c.qp, 4, IBV_WC_SUCCESS);
	assert_true(double_deliver(c.qp, "", 0, NULL));
	rig_settle();
	for (unsigned i = 0; i < 5; i++) {
		assert_done(ops[i].done, 0);
		assert_int_equal(ops[i].done.result, 0);
	}
}

/* flags: none is defined */
static void args__flags(void **state)
{
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	for (int what = READ; what < RECV; what++) {
		assert_int_equal(status_of(&c, (enum what)what, rig_local(0), rig_remote(0), 8, 1),
			UV_EINVAL);
		assert_int_equal(
			status_of(&c, (enum what)what, rig_local(0), rig_remote(0), 8, 1u << 31),
			UV_EINVAL);
	}
}

/* a message longer than the port allows */
static void args__message_limit(void **state)
{
	struct rig_conn c;

	(void)state;
	double_device.max_msg_size = 4096;
	rig_conn_ready(&c, NULL);
	for (int what = SEND; what <= RECV; what++) {
		assert_int_equal(
			status_of(&c, (enum what)what, rig_local(0), rig_remote(0), 4096, 0), 0);
		assert_int_equal(
			status_of(&c, (enum what)what, rig_local(0), rig_remote(0), 4097, 0),
			UV_EMSGSIZE);
	}
}

/* a port that names no limit: more than a length on the wire can tell is too much all the same */
static void args__message_without_limit(void **state)
{
	const size_t size = (size_t)5 << 30;
	struct rpma_mr_local *mr =
		unit_mr(rig.peer, rig.mem, size, RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV);
	struct rig_conn c;

	(void)state;
	double_device.max_msg_size = 0;
	rig_conn_ready(&c, NULL);
	for (int what = SEND; what <= RECV; what++) {
		assert_int_equal(status_of(&c, (enum what)what, (rpma_uv_local_t){ mr, 0 },
					 rig_remote(0), (size_t)UINT32_MAX + 1, 0),
			UV_EMSGSIZE);
		assert_int_equal(
			status_of(&c, (enum what)what, rig_local(0), rig_remote(0), 4097, 0), 0);
	}
	rig_conn_gone(&c);
	assert_int_equal(rpma_mr_dereg(&mr), 0);
}

/* states: a receive waits from NEW on, everything else is for READY */
static void args__states(void **state)
{
	static struct rig_op recv;
	struct rpma_conn_cfg *cfg = rig_cfg(10, 0, 0);
	struct rig_conn c;

	(void)state;
	rig_conn_new(&c, NULL);
	rig_recv(&c, &recv, 8);
	for (int what = READ; what < RECV; what++)
		assert_int_equal(status_of(&c, (enum what)what, rig_local(0), rig_remote(0), 8, 0),
			UV_ENOTCONN);
	assert_int_equal(recv.done.times, 0);
	rig_conn_gone(&c);
	assert_done(recv.done, UV_ECANCELED);

	/* without a receive queue a receive would wait for ever */
	assert_int_equal(rpma_conn_cfg_set_rq_size(cfg, 0), 0);
	rig_conn_ready(&c, cfg);
	assert_int_equal(rpma_conn_cfg_delete(&cfg), 0);
	assert_int_equal(status_of(&c, RECV, rig_local(0), rig_remote(0), 8, 0), UV_EINVAL);
	assert_int_equal(status_of(&c, SEND, rig_local(0), rig_remote(0), 8, 0), 0);
}

#define SLAB 64

/* storage of the slab, which cannot grow: no future, nothing queued */
static void args__no_storage(void **state)
{
	static const rpma_uv_piece_t piece = { { NULL, 0 }, { NULL, 0 }, 8 };
	rpma_uv_future_t *held[SLAB];
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	assert_int_equal(rig_stats().slab_objects, SLAB);
	for (unsigned i = 0; i < SLAB; i++)
		held[i] = rpma_uv_promise(&rig.reactor, NULL);
	assert_int_equal(rig_stats().slab_objects, SLAB);
	for (unsigned what = 0; what < 9; what++) {
		const rpma_uv_local_t at = rig_local(0);
		const rpma_uv_remote_t from = rig_remote(0);
		rpma_uv_future_t *f = held[0];

		unit_alloc_fail(1);
		switch (what) {
		case 0:
			f = rpma_uv_read(c.conn, NULL, at, from, 8, 0);
			break;
		case 1:
			f = rpma_uv_write(c.conn, NULL, from, at, 8, 0);
			break;
		case 2:
			f = rpma_uv_write_with_imm(c.conn, NULL, from, at, 8, 0, 1);
			break;
		case 3:
			f = rpma_uv_atomic_write(c.conn, NULL, from, "8 bytes", 0);
			break;
		case 4:
			f = rpma_uv_flush(c.conn, NULL, from, 8, RPMA_FLUSH_TYPE_VISIBILITY, 0);
			break;
		case 5:
			f = rpma_uv_persist(c.conn, NULL, &piece, 1, RPMA_FLUSH_TYPE_VISIBILITY, 0);
			break;
		case 6:
			f = rpma_uv_send(c.conn, NULL, at, 8, 0);
			break;
		case 7:
			f = rpma_uv_send_with_imm(c.conn, NULL, at, 8, 0, 1);
			break;
		default:
			f = rpma_uv_recv(c.conn, NULL, at, 8);
			break;
		}
		assert_null(f);
	}
	unit_alloc_fail(0);
	for (unsigned i = 0; i < SLAB; i++) {
		assert_int_equal(rpma_uv_resolve(held[i], 0, 0), 0);
		rpma_uv_release(held[i]);
	}
	rig_settle();
	assert_int_equal(double_pending_sends(c.qp) + double_pending_recvs(c.qp), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(args__ranges),
		RIG_TEST(args__no_region),
		RIG_TEST(args__zero_bytes),
		RIG_TEST(args__flags),
		RIG_TEST(args__message_limit),
		RIG_TEST(args__message_without_limit),
		RIG_TEST(args__states),
		RIG_TEST(args__no_storage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
