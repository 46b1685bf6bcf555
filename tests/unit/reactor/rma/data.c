/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* data.c - bytes move: reads, writes, messages with and without a word in the header, both ways */

#include <arpa/inet.h>

#include "rig.h"

/* a read brings the bytes of the range, to the place, and tells their count */
static void data__read(void **state)
{
	static struct rig_op op;
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_watch(
		rpma_uv_read(c.conn, &op.op, rig_local(100), rig_remote(40000), 1000, 0), &op.done);
	rig_settle();
	assert_memory_not_equal(rig.mem + 100, rig.mem + 40000, 1000);
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	RIG_UNTIL(op.done.times > 0);
	assert_done(op.done, 0);
	assert_int_equal(op.done.result, 1000);
	assert_memory_equal(rig.mem + 100, rig.mem + 40000, 1000);
}

/* a remote region may be deleted as soon as the read was called */
static void data__remote_region_deleted(void **state)
{
	struct rpma_mr_remote *remote = unit_mr_remote(rig.mr);
	static struct rig_op op;
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_watch(rpma_uv_read(
			  c.conn, &op.op, rig_local(0), (rpma_uv_remote_t){ remote, 50000 }, 64, 0),
		&op.done);
	assert_int_equal(rpma_mr_remote_delete(&remote), 0);
	rig_settle();
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	RIG_UNTIL(op.done.times > 0);
	assert_memory_equal(rig.mem, rig.mem + 50000, 64);
}

/* reads that the peer does not allow */
static void data__read_denied(void **state)
{
	static uint8_t own[64];
	struct rpma_mr_local *mr = unit_mr(rig.peer, own, sizeof(own), RPMA_MR_USAGE_SEND);
	struct rpma_mr_remote *remote = unit_mr_remote(mr);
	static struct rig_op op;
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_watch(
		rpma_uv_read(c.conn, &op.op, rig_local(0), (rpma_uv_remote_t){ remote, 0 }, 64, 0),
		&op.done);
	rig_settle();
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	RIG_UNTIL(op.done.times > 0);
	assert_done(op.done, UV_EACCES);
	assert_int_equal(op.done.detail & 0xff, IBV_WC_REM_ACCESS_ERR);
	rig_conn_gone(&c);
	assert_int_equal(rpma_mr_remote_delete(&remote), 0);
	assert_int_equal(rpma_mr_dereg(&mr), 0);
}

/* a write takes the bytes of the range, to the place, and tells their count */
static void data__write(void **state)
{
	struct rpma_mr_remote *remote = unit_mr_remote(rig.mr);
	static struct rig_op op;
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_watch(rpma_uv_write(c.conn, &op.op, (rpma_uv_remote_t){ remote, 40000 }, rig_local(100),
			  1000, 0),
		&op.done);
	assert_int_equal(rpma_mr_remote_delete(&remote), 0); /* of use during the call only */
	rig_settle();
	assert_memory_not_equal(rig.mem + 40000, rig.mem + 100, 1000);
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	RIG_UNTIL(op.done.times > 0);
	assert_done(op.done, 0);
	assert_int_equal(op.done.result, 1000);
	assert_memory_equal(rig.mem + 40000, rig.mem + 100, 1000);
}

/* writes that the peer, or the local region, does not allow */
static void data__write_denied(void **state)
{
	static uint8_t own[64];
	struct rpma_mr_local *mr = unit_mr(rig.peer, own, sizeof(own), RPMA_MR_USAGE_READ_SRC);
	struct rpma_mr_remote *remote = unit_mr_remote(mr);
	static struct rig_op op;
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_watch(
		rpma_uv_write(c.conn, &op.op, (rpma_uv_remote_t){ remote, 0 }, rig_local(0), 64, 0),
		&op.done);
	rig_settle();
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	RIG_UNTIL(op.done.times > 0);
	assert_done(op.done, UV_EACCES);
	assert_int_equal(op.done.detail & 0xff, IBV_WC_REM_ACCESS_ERR);
	rig_conn_gone(&c);
	rig_conn_ready(&c, NULL);
	rig_watch(rpma_uv_read(c.conn, &op.op, (rpma_uv_local_t){ mr, 0 }, rig_remote(0), 64, 0),
		&op.done);
	rig_settle();
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	RIG_UNTIL(op.done.times > 0);
	assert_done(op.done, UV_EFAULT);
	rig_conn_gone(&c);
	assert_int_equal(rpma_mr_remote_delete(&remote), 0);
	assert_int_equal(rpma_mr_dereg(&mr), 0);
}

static struct rig_conn client, server;
static rpma_uv_ep_t *ep;
static struct rig_done accepted;

static void on_request(rpma_uv_ep_t *from, rpma_uv_conn_req_t *req, void *data)
{
	(void)from;
	(void)data;
	rig_watch(rpma_uv_accept(req, NULL, server.conn, NULL), &accepted);
}

static void meet(void)
{
	struct rig_done connected;

	memset(&accepted, 0, sizeof(accepted));
	double_auto(true);
	assert_int_equal(rpma_uv_listen(&rig.reactor, rig.peer, UNIT_ADDR, UNIT_PORT, 0, on_request,
				 NULL, &ep),
		0);
	rig_conn_new(&client, NULL);
	rig_conn_new(&server, NULL);
	rig_watch(rpma_uv_connect(client.conn, NULL, UNIT_ADDR, UNIT_PORT, NULL), &connected);
	RIG_UNTIL(connected.times > 0 && accepted.times > 0);
	rpma_uv_ep_close(ep, NULL, NULL);
}

static rpma_uv_recv_info_t info;
static int info_status;

static void take_info(rpma_uv_future_t *f, int status)
{
	(void)status;
	info_status = rpma_uv_recv_info(f, &info);
	rig_on_done(f, status);
}

/* a message and its word, in host order; one without a word; an empty one */
static void data__messages(void **state)
{
	static struct rig_op send;
	static const char text[] = "a message";
	struct rig_done received;

	(void)state;
	meet();
	for (unsigned i = 0; i < 3; i++) {
		size_t len = i == 2 ? 0 : sizeof(text);

		memcpy(rig.mem, text, sizeof(text));
		memset(rig.mem + 1000, 0, 100);
		memset(&received, 0, sizeof(received));
		memset(&info, 0x5a, sizeof(info));
		rpma_uv_then(rpma_uv_recv(server.conn, NULL, rig_local(1000), 100), take_info,
			&received);
		if (i == 0)
			rig_watch(rpma_uv_send(client.conn, &send.op, rig_local(0), len, 0),
				&send.done);
		else
			rig_watch(rpma_uv_send_with_imm(
					  client.conn, &send.op, rig_local(0), len, 0, 0x01020304),
				&send.done);
		RIG_UNTIL(received.times > 0 && send.done.times > 0);
		assert_done(received, 0);
		assert_done(send.done, 0);
		assert_int_equal(received.result, len);
		assert_int_equal(send.done.result, len);
		assert_int_equal(info_status, 0);
		assert_int_equal(info.len, len);
		assert_int_equal(info.has_imm, i > 0);
		assert_int_equal(info.imm, i > 0 ? 0x01020304 : 0);
		assert_ptr_equal(info.conn, server.conn);
		assert_false(info.is_write);
		if (i < 2)
			assert_string_equal((char *)rig.mem + 1000, text);
	}
}

/* a write with a word: the bytes in their place, the word at the peer, its receive's buffer alone */
static void data__write_with_imm(void **state)
{
	static struct rig_op write;
	struct rig_done received;

	(void)state;
	meet();
	for (size_t len = 0; len <= 500; len += 500) {
		memset(rig.mem, 0x11, 500);
		memset(rig.mem + 1000, 0x22, 500);
		memset(rig.mem + 2000, 0x33, 500);
		memset(&received, 0, sizeof(received));
		memset(&info, 0x5a, sizeof(info));
		rpma_uv_then(rpma_uv_recv(server.conn, NULL, rig_local(1000), 100), take_info,
			&received);
		rig_watch(rpma_uv_write_with_imm(client.conn, &write.op, rig_remote(2000),
				  rig_local(0), len, 0, 0x01020304),
			&write.done);
		RIG_UNTIL(received.times > 0 && write.done.times > 0);
		assert_done(received, 0);
		assert_done(write.done, 0);
		assert_int_equal(write.done.result, len);
		assert_int_equal(info_status, 0);
		assert_int_equal(info.len, len);
		assert_true(info.has_imm);
		assert_true(info.is_write);
		assert_int_equal(info.imm, 0x01020304);
		assert_memory_equal(rig.mem + 2000, rig.mem + (len > 0 ? 0 : 2000), 500);
		assert_int_equal(rig.mem[1000], 0x22);
	}
}

/* the word travels in network order */
static void data__imm_on_the_wire(void **state)
{
	static struct rig_op send, write;
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_watch(rpma_uv_send_with_imm(c.conn, &send.op, rig_local(0), 8, 0, 0xCAFEBABE),
		&send.done);
	rig_settle();
	assert_int_equal(double_pending_send(c.qp, 0)->opcode, IBV_WR_SEND_WITH_IMM);
	assert_int_equal(double_pending_send(c.qp, 0)->imm, htonl(0xCAFEBABE));
	rig_watch(rpma_uv_write_with_imm(
			  c.conn, &write.op, rig_remote(0), rig_local(0), 8, 0, 0xDEADBEEF),
		&write.done);
	rig_settle();
	assert_int_equal(double_pending_send(c.qp, 1)->opcode, IBV_WR_RDMA_WRITE_WITH_IMM);
	assert_int_equal(double_pending_send(c.qp, 1)->imm, htonl(0xDEADBEEF));
	rig_close();
}

/* a message that does not fit */
static void data__message_too_long(void **state)
{
	static struct rig_op send;
	struct rig_done received;

	(void)state;
	meet();
	rig_watch(rpma_uv_recv(server.conn, NULL, rig_local(1000), 10), &received);
	rig_watch(rpma_uv_send(client.conn, &send.op, rig_local(0), 11, 0), &send.done);
	RIG_UNTIL(received.times > 0 && send.done.times > 0);
	assert_done(received, UV_EMSGSIZE);
	assert_done(send.done, UV_EREMOTEIO);
}

/* what came is told of receives that have succeeded, and of nothing else */
static void data__info_refused(void **state)
{
	static struct rig_op recv, send;
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_recv(&c, &recv, 8);
	rig_send(&c, &send, 8);
	assert_int_equal(rpma_uv_recv_info(&recv.op.future, &info), UV_EINVAL); /* pending */
	rig_settle();
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	assert_true(double_deliver(c.qp, "abc", 3, NULL));
	rig_settle();
	assert_int_equal(rpma_uv_recv_info(&send.op.future, &info), UV_EINVAL);
	assert_int_equal(rpma_uv_recv_info(NULL, &info), UV_EINVAL);
	assert_int_equal(rpma_uv_recv_info(&recv.op.future, NULL), UV_EINVAL);
	assert_int_equal(rpma_uv_recv_info(&recv.op.future, &info), 0); /* before its reuse */
	assert_int_equal(info.len, 3);
	rig_recv(&c, &recv, 8);
	rig_conn_gone(&c);
	assert_done(recv.done, UV_ECANCELED);
	assert_int_equal(rpma_uv_recv_info(&recv.op.future, &info), UV_EINVAL);
}

/* receives complete in posting order */
static void data__receive_order(void **state)
{
	static struct rig_op recvs[5];
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	for (unsigned i = 0; i < 5; i++)
		rig_recv(&c, &recvs[i], 8);
	rig_settle();
	for (uint32_t i = 0; i < 5; i++)
		assert_true(double_deliver(c.qp, "12345", i, NULL));
	rig_settle();
	for (unsigned i = 0; i < 5; i++) {
		assert_done(recvs[i].done, 0);
		assert_int_equal(recvs[i].done.result, i);
		if (i > 0)
			assert_true(recvs[i].done.at > recvs[i - 1].done.at);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(data__read),
		RIG_TEST(data__remote_region_deleted),
		RIG_TEST(data__read_denied),
		RIG_TEST(data__write),
		RIG_TEST(data__write_denied),
		RIG_TEST(data__messages),
		RIG_TEST(data__write_with_imm),
		RIG_TEST(data__imm_on_the_wire),
		RIG_TEST(data__message_too_long),
		RIG_TEST(data__info_refused),
		RIG_TEST(data__receive_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
