/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * save ADDR PORT FILE - read remote memory, then write it to a file, then make that durable: a chain
 * in which each step starts when the one before it has succeeded
 */
#include <fcntl.h>
#include "session.h"

#define SIZE 65536

static struct save {
	struct session session;
	rpma_uv_file_t *file;
	rpma_uv_op_t read, write, sync;
	struct rpma_mr_local *mr;
	char bytes[SIZE];
	uv_buf_t
		buf; /* borrowed until the write is done, like what it names */
} save;

static rpma_uv_future_t *then_write(rpma_uv_future_t *read, void *data)
{
	(void)data;
	save.buf = uv_buf_init(save.bytes, (unsigned)read->result);
	return rpma_uv_file_write(
		save.file, &save.write, &save.buf, 1, 0, 0);
}

static rpma_uv_future_t *then_sync(rpma_uv_future_t *write, void *data)
{
	(void)write;
	(void)data;
	return rpma_uv_file_sync(save.file, &save.sync);
}

int main(int argc, char **argv)
{
	struct session *s = &save.session;
	rpma_uv_future_t *f;
	rpma_uv_op_t op;

	if (argc != 4)
		return 2;
	session_open(s, argv[1], argv[2]);
	must(rpma_mr_reg(s->peer, save.bytes, SIZE,
		RPMA_MR_USAGE_READ_DST, &save.mr));
	await(rpma_uv_file_open(&s->reactor, &op, argv[3],
		O_CREAT | O_WRONLY | O_TRUNC, 0644, 0, &save.file));

	/* an error at any step skips the others and is the whole chain's */
	f = rpma_uv_read(s->conn, &save.read,
		(rpma_uv_local_t){ save.mr, 0 },
		(rpma_uv_remote_t){ s->offer, 0 }, SIZE, 0);
	f = rpma_uv_chain(f, then_write, NULL);
	f = rpma_uv_chain(f, then_sync, NULL);
	await(f);
	printf("%d bytes, durable\n", SIZE);

	session_close(s);
	must(rpma_mr_dereg(&save.mr));
	return rpma_peer_delete(&s->peer) != 0;
}
