/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * mixed ADDR PORT - a gateway: what comes in by TCP is answered with remote memory, in one loop and
 * one thread. It asks itself once, prints the answer, and ends.
 */
#include <string.h>
#include "session.h"

#define SIZE 64

static struct session s;
static struct rpma_mr_local *mr;
static char bytes[SIZE], answer[SIZE];
static rpma_uv_op_t read_op;
static uv_tcp_t server, served, asker;
static uv_connect_t connect_req;
static uv_write_t ask_req, answer_req;

static void give_room(
	uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
	(void)suggested;
	*buf = uv_buf_init(handle->data, SIZE);
}

static void on_answered(uv_write_t *req, int status)
{
	must(status);
	uv_close((uv_handle_t *)req->handle, NULL);
}

/* the bytes are there: straight from the region to the socket */
static void on_read(rpma_uv_future_t *f, int status)
{
	const uv_buf_t buf = uv_buf_init(bytes, SIZE);

	if (status)
		fprintf(stderr, "%s\n", rpma_uv_strerror(f));
	must(status);
	must(uv_write(&answer_req, (uv_stream_t *)&served, &buf, 1,
		on_answered));
}

static void on_question(
	uv_stream_t *stream, ssize_t nread, const uv_buf_t *buf)
{
	(void)buf;
	if (nread <= 0)
		return;
	uv_read_stop(stream);
	rpma_uv_then(
		rpma_uv_read(s.conn, &read_op, (rpma_uv_local_t){ mr, 0 },
			(rpma_uv_remote_t){ s.offer, 0 }, SIZE, 0),
		on_read, NULL);
}

static void on_tcp(uv_stream_t *stream, int status)
{
	must(status);
	must(uv_tcp_init(s.loop, &served));
	served.data = bytes;
	must(uv_accept(stream, (uv_stream_t *)&served));
	must(uv_read_start(
		(uv_stream_t *)&served, give_room, on_question));
	uv_close((uv_handle_t *)stream, NULL);
}

static void on_answer(
	uv_stream_t *stream, ssize_t nread, const uv_buf_t *buf)
{
	if (nread > 0)
		printf("answer: %.*s\n",
			(int)strnlen(buf->base, (size_t)nread),
			buf->base);
	uv_close((uv_handle_t *)stream, NULL);
}

static void on_connected(uv_connect_t *req, int status)
{
	const uv_buf_t question = uv_buf_init("?", 1);

	must(status);
	must(uv_write(&ask_req, req->handle, &question, 1, NULL));
	must(uv_read_start(req->handle, give_room, on_answer));
}

int main(int argc, char **argv)
{
	struct sockaddr_in addr;
	int len = sizeof(addr);

	if (argc != 3)
		return 2;
	session_open(&s, argv[1], argv[2]);
	must(rpma_mr_reg(
		s.peer, bytes, SIZE, RPMA_MR_USAGE_READ_DST, &mr));
	must(uv_ip4_addr("127.0.0.1", 0, &addr));
	must(uv_tcp_init(s.loop, &server));
	must(uv_tcp_bind(&server, (struct sockaddr *)&addr, 0));
	must(uv_listen((uv_stream_t *)&server, 1, on_tcp));
	must(uv_tcp_getsockname(&server, (struct sockaddr *)&addr, &len));
	must(uv_tcp_init(s.loop, &asker));
	asker.data = answer;
	must(uv_tcp_connect(&connect_req, &asker,
		(struct sockaddr *)&addr, on_connected));
	uv_run(s.loop, UV_RUN_DEFAULT);

	session_close(&s);
	must(rpma_mr_dereg(&mr));
	return rpma_peer_delete(&s.peer) != 0;
}
