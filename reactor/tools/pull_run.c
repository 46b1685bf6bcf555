/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * pull_run.c - rpma pull, step by step
 *
 *     lookup -> connect -> exchange -> buffers -> open -> allocate -> transfer -> [verify]
 *            -> sync -> close -> rename -> sync of the directory -> disconnect
 *
 * Each step is a future that is waited for while the loop runs, so that signals, the progress line
 * and the connection are served meanwhile. The first failure ends it; what the steps have made is
 * taken down by the reactor's close and by pull.c. A signal cancels the step that runs: those from
 * the close on do not notice it, since the file is complete then.
 *
 * FILE.part exists from `open` until `rename`, and whatever ends the run in between leaves it
 * there.
 */

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pull.h"

/* how long a server may take to answer an ask; a digest may take as long as it takes */
#define ANSWER_TIMEOUT_MS 10000

/* send queue entries beside the reads: the ask, a probe */
#define SEND_QUEUE_EXTRA 4
#define RECV_QUEUE       4

/* ---- waiting --------------------------------------------------------------------------------- */

void pull_interrupt(struct pull *p)
{
	if (!p->current || p->interrupted)
		return;
	p->interrupted = true;
	/* what is posted cannot be recalled: it comes back when the connection ends */
	if (rpma_uv_cancel(p->current, 0) == UV_EBUSY)
		rpma_uv_release(rpma_uv_disconnect(p->conn, NULL));
}

int pull_await_for(struct pull *p, rpma_uv_future_t *f, uint64_t timeout_ms)
{
	/* who is told of an interrupt waits for nothing more that could be cancelled */
	assert(!p->interrupted);
	p->current = f;
	int status = rpma_uv_wait(f, timeout_ms, NULL);
	p->current = NULL;
	return p->interrupted ? UV_ECANCELED : status;
}

int pull_await(struct pull *p, rpma_uv_future_t *f)
{
	return pull_await_for(p, f, UINT64_MAX);
}

int pull_await_firm(struct pull *p, rpma_uv_future_t *f)
{
	(void)p;
	return rpma_uv_wait(f, UINT64_MAX, NULL);
}

int pull_failed(
	struct pull *p, enum exit_code code, const char *stage, int status, const char *format, ...)
{
	struct pull_failure *failure = &p->failure;
	va_list args;

	assert(failure->code == EXIT_DONE);
	failure->stage = stage;
	if (p->interrupted) {
		failure->code = EXIT_INTERRUPTED;
		failure->status = UV_ECANCELED;
		(void)snprintf(failure->text, sizeof(failure->text), "interrupted");
		return failure->code;
	}
	failure->code = (int)code;
	failure->status = status;
	va_start(args, format);
	(void)vsnprintf(failure->text, sizeof(failure->text), format, args);
	va_end(args);
	return failure->code;
}

int pull_failed_at(
	struct pull *p, enum exit_code code, const char *stage, uint64_t offset, int status)
{
	p->failure.at_offset = true;
	p->failure.offset = offset;
	return pull_failed(p, code, stage, status, "%s", reason(status));
}

static int failed_file(struct pull *p, const char *stage, const char *path, int status)
{
	return pull_failed(p, status == UV_ENOMEM ? EXIT_RESOURCES : EXIT_STORAGE, stage, status,
		"%s: %s", path, reason(status));
}

/* ---- the connection -------------------------------------------------------------------------- */

static int lookup(struct pull *p)
{
	const char *host = p->args.address.host;
	int ret = pull_await(p, rpma_uv_peer_new(&p->reactor, &p->op, host,
					RPMA_UTIL_IBV_CONTEXT_REMOTE, &p->peer));
	if (ret == UV_ENODEV || ret == UV_EADDRNOTAVAIL)
		return pull_failed(
			p, EXIT_CONNECT, "lookup", ret, "no RDMA device leads to %s", host);
	if (ret)
		return pull_failed(p, ret == UV_ENOMEM ? EXIT_RESOURCES : EXIT_CONNECT, "lookup",
			ret, "%s: %s", host, reason(ret));
	return 0;
}

/* where a member of the room is for the device */
#define ROOM(p, member) ((rpma_uv_local_t){ (p)->room_mr, offsetof(struct pull_room, member) })

/* a connection with its receives posted: answers cannot come too early */
static int prepare_connection(struct pull *p)
{
	struct rpma_conn_cfg *cfg;
	int ret = UV_ENOMEM;

	p->room = aligned_alloc(4096, 4096);
	_Static_assert(sizeof(*p->room) <= 4096, "messages fit a page");
	if (!p->room || rpma_conn_cfg_new(&cfg))
		goto failed;
	memset(p->room, 0, sizeof(*p->room));
	(void)rpma_conn_cfg_set_sq_size(cfg, p->args.depth + SEND_QUEUE_EXTRA);
	(void)rpma_conn_cfg_set_rq_size(cfg, RECV_QUEUE);
	ret = rpma_mr_reg(p->peer, p->room, sizeof(*p->room),
		RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV, &p->room_mr);
	if (ret)
		ret = ret == RPMA_E_PROVIDER ? -errno : UV_ENOMEM;
	else
		ret = rpma_uv_conn_new(&p->reactor, p->peer, cfg, &p->conn);
	(void)rpma_conn_cfg_delete(&cfg);
	if (ret)
		goto failed;

	(void)rpma_uv_recv(p->conn, &p->answer_op, ROOM(p, answer), CONTROL_MESSAGE_MAX);
	if (p->args.verify)
		(void)rpma_uv_recv(p->conn, &p->digest_op, ROOM(p, digest), CONTROL_MESSAGE_MAX);
	return 0;

failed:
	return pull_failed(
		p, EXIT_RESOURCES, "connect", ret, "cannot make a connection: %s", reason(ret));
}

static int connect_to_server(struct pull *p)
{
	uint8_t buf[CONTROL_GREETING_MAX];
	struct control_greeting greeting = { .kind = CONTROL_REQUEST };
	struct rpma_conn_private_data pd = { buf,
		(uint8_t)control_greeting_encode(&greeting, buf) };

	int ret = pull_await(p,
		rpma_uv_connect(p->conn, &p->op, p->args.address.host, p->args.address.port, &pd));
	struct rpma_conn_private_data heard = { NULL, 0 };
	(void)rpma_uv_conn_private_data(p->conn, &heard);
	int error = control_greeting_decode(&greeting, heard.ptr, heard.len);

	/* a server that turns us down says why; nobody there, or a stranger, says nothing */
	if (ret == UV_ECONNREFUSED && !error && greeting.kind == CONTROL_TURNED_DOWN)
		return pull_failed(
			p, EXIT_REFUSED, "connect", ret, "turned down: %s", greeting.refusal.text);
	if (ret == UV_ECONNREFUSED && error == CONTROL_UNSPOKEN)
		return pull_failed(p, EXIT_REFUSED, "connect", UV_EPROTO, "turned down: %s",
			control_strerror(error));
	if (ret)
		return pull_failed(p, ret == UV_ENOMEM ? EXIT_RESOURCES : EXIT_CONNECT, "connect",
			ret, "%s", reason(ret));
	if (!error && greeting.kind != CONTROL_WELCOME)
		error = CONTROL_TYPE;
	if (error)
		return pull_failed(p, EXIT_REFUSED, "connect", UV_EPROTO, "not an rpma server: %s",
			control_strerror(error));
	return 0;
}

/* ---- the exchange ---------------------------------------------------------------------------- */

int pull_hear(struct pull *p, const char *stage, const rpma_uv_op_t *op, const void *room,
	enum control_type type, struct control_message *message)
{
	int error = control_decode(message, room, (size_t)op->future.result);

	if (!error && message->type == CONTROL_REFUSAL)
		return pull_failed(p,
			message->refusal.code == CONTROL_CODE_DIGEST ? EXIT_REMOTE : EXIT_REFUSED,
			stage, UV_EPROTO, "refused: %s", message->refusal.text);
	if (!error && message->type != type)
		error = CONTROL_TYPE;
	if (error)
		return pull_failed(p, EXIT_REFUSED, stage, UV_EPROTO,
			"the server's answer is wrong: %s", control_strerror(error));
	return 0;
}

/* what was granted has to be what was asked for, and the descriptor has to cover it */
static int take_region(struct pull *p, const struct control_region *region)
{
	uint64_t wanted = p->args.length ? p->args.length : region->size - p->args.offset;
	size_t size = 0;

	if (region->offset != p->args.offset || region->length != wanted)
		return pull_failed(p, EXIT_REFUSED, "exchange", UV_EPROTO,
			"the server offers %llu bytes from offset %llu on",
			(unsigned long long)region->length, (unsigned long long)region->offset);
	if (rpma_mr_remote_from_descriptor(region->descriptor, region->descriptor_len, &p->remote))
		return pull_failed(p, EXIT_REFUSED, "exchange", UV_EPROTO,
			"the server's descriptor is not one");
	(void)rpma_mr_remote_get_size(p->remote, &size);
	if (size < region->size)
		return pull_failed(p, EXIT_REFUSED, "exchange", UV_EPROTO,
			"the region has %zu bytes, the server said %llu", size,
			(unsigned long long)region->size);
	p->region = *region;
	return 0;
}

static int ask_for_region(struct pull *p)
{
	struct control_message message = { .type = CONTROL_ASK };
	struct control_ask *ask = &message.ask;

	ask->digest = p->args.verify;
	ask->offset = p->args.offset;
	ask->length = p->args.length;
	(void)snprintf(ask->name, sizeof(ask->name), "%s", p->args.address.region);
	size_t len = control_encode(&message, p->room->ask);

	int ret = pull_await(p, rpma_uv_send(p->conn, &p->op, ROOM(p, ask), len, 0));
	if (!ret)
		ret = pull_await_for(p, &p->answer_op.future, ANSWER_TIMEOUT_MS);
	if (ret == RPMA_UV_PENDING)
		return pull_failed(
			p, EXIT_REFUSED, "exchange", UV_ETIMEDOUT, "the server does not answer");
	if (ret)
		return pull_failed(p, EXIT_REMOTE, "exchange", ret, "%s", reason(ret));
	ret = pull_hear(p, "exchange", &p->answer_op, p->room->answer, CONTROL_REGION, &message);
	return ret ? ret : take_region(p, &message.region);
}

/* ---- the transfer ---------------------------------------------------------------------------- */

static int make_buffers(struct pull *p)
{
	const rpma_uv_pool_opts_t opts = {
		.size = sizeof(opts),
		.count = p->args.depth,
		.chunk = p->args.chunk,
	};
	int ret = pull_await(p, rpma_uv_pool_new(&p->reactor, &p->op, p->peer, &opts, &p->pool));
	if (ret)
		return pull_failed(
			p, EXIT_RESOURCES, "buffers", ret, "%s", rpma_uv_strerror(&p->op.future));
	p->fixed = rpma_uv_pool_is_fixed(p->pool);
	return 0;
}

static int open_part(struct pull *p)
{
	/* what stands there is a rest of an earlier run, or somebody's trap */
	const int flags = O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW;
	int ret = pull_await(p, rpma_uv_file_open(&p->reactor, &p->op, p->args.part, flags, 0666,
					RPMA_UV_FILE_DIRECT, &p->file));
	p->part_exists = p->file != NULL;
	if (ret)
		return failed_file(p, "open", p->args.part, ret);

	ret = pull_await(p, rpma_uv_file_allocate(p->file, &p->op, 0, (int64_t)p->region.length));
	/* a file system that cannot allocate ahead finds room, or none, write by write */
	if (ret && ret != UV_ENOTSUP && ret != UV_ENOSYS)
		return pull_failed_at(p, EXIT_STORAGE, "allocate", 0, ret);
	return 0;
}

static int on_chunk(rpma_uv_transfer_t *t, void *base, size_t len, uint64_t offset, void *data)
{
	(void)t;
	(void)base;
	(void)len;
	(void)offset;
	struct pull *p = data;

	p->last_read_ns = uv_hrtime();
	return 0;
}

static uint64_t written(void *data)
{
	struct pull *p = data;

	rpma_uv_transfer_stat(p->transfer, &p->stat);
	return p->stat.written;
}

static int failed_transfer(struct pull *p, int status)
{
	static const struct {
		const char *name;
		enum exit_code code;
	} stages[] = {
		[RPMA_UV_STAGE_READ] = { "read", EXIT_REMOTE },
		[RPMA_UV_STAGE_CHUNK] = { "chunk", EXIT_REMOTE },
		[RPMA_UV_STAGE_WRITE] = { "write", EXIT_STORAGE },
		[RPMA_UV_STAGE_SYNC] = { "sync", EXIT_STORAGE },
	};
	rpma_uv_transfer_error_t error = { 0 };

	rpma_uv_transfer_error(p->transfer, &error);
	if (error.stage == RPMA_UV_STAGE_NONE)
		return pull_failed(p, status == UV_ENOMEM ? EXIT_RESOURCES : EXIT_REMOTE,
			"transfer", status, "%s", reason(status));
	return pull_failed_at(
		p, stages[error.stage].code, stages[error.stage].name, error.offset, error.status);
}

static int transfer(struct pull *p)
{
	const rpma_uv_transfer_opts_t opts = {
		.size = sizeof(opts),
		.chunk = p->args.chunk,
		.depth = p->args.depth,
		.durability = p->args.durability,
		.on_chunk = on_chunk,
		.data = p,
	};
	int ret = rpma_uv_transfer_new(p->pool, &opts, &p->transfer);
	if (ret)
		return pull_failed(p, EXIT_RESOURCES, "transfer", ret, "%s", reason(ret));

	const rpma_uv_remote_t src = { p->remote, (size_t)p->region.offset };
	p->started_ns = uv_hrtime();
	rpma_uv_future_t *f =
		rpma_uv_pull(p->transfer, &p->op, p->conn, src, p->region.length, p->file, 0);
	progress_start(&p->progress, p->args.target, p->region.length, written, p);
	ret = pull_await(p, f);
	progress_stop(&p->progress);
	p->ended_ns = uv_hrtime();
	rpma_uv_transfer_stat(p->transfer, &p->stat);

	/* when the signal came too late to stop it, everything is there, and yet not wanted */
	ret = ret ? failed_transfer(p, ret) : 0;
	(void)rpma_uv_transfer_delete(&p->transfer);
	return ret;
}

/* ---- the file takes its place ---------------------------------------------------------------- */

static void on_file_closed(void *data)
{
	(void)rpma_uv_resolve(data, 0, 0);
}

static void close_file(struct pull *p)
{
	rpma_uv_future_t *closed = rpma_uv_promise(&p->reactor, &p->op);

	rpma_uv_file_close(p->file, on_file_closed, closed);
	(void)pull_await_firm(p, closed);
	p->file = NULL;
}

static void on_renamed(uv_fs_t *req)
{
	(void)rpma_uv_resolve(req->data, (int)req->result, 0);
	uv_fs_req_cleanup(req);
}

static int rename_part(struct pull *p)
{
	rpma_uv_future_t *renamed = rpma_uv_promise(&p->reactor, &p->op);

	p->fs.data = renamed;
	int ret = uv_fs_rename(&p->loop, &p->fs, p->args.part, p->args.target, on_renamed);
	if (ret)
		(void)rpma_uv_resolve(renamed, ret, 0);
	ret = pull_await_firm(p, renamed);
	if (ret)
		return failed_file(p, "rename", p->args.target, ret);
	p->part_exists = false;
	return 0;
}

/* the new name is durable once its directory is */
static int sync_directory(struct pull *p)
{
	const char *slash = strrchr(p->args.target, '/');
	char *path =
		slash ? strndup(p->args.target, (size_t)(slash - p->args.target) + 1) : strdup(".");
	int ret = UV_ENOMEM;

	if (path)
		ret = pull_await_firm(p, rpma_uv_file_open(&p->reactor, &p->op, path,
						 O_RDONLY | O_DIRECTORY, 0, 0, &p->file));
	if (!ret) {
		ret = pull_await_firm(p, rpma_uv_file_sync(p->file, &p->op));
		close_file(p);
	}
	if (ret)
		ret = failed_file(p, "sync", path ? path : p->args.target, ret);
	free(path);
	return ret;
}

static int settle(struct pull *p)
{
	bool durable = p->args.durability != RPMA_UV_DURABILITY_NONE;
	int ret = 0;

	if (durable)
		ret = pull_await(p, rpma_uv_file_sync(p->file, &p->op));
	if (ret)
		return failed_file(p, "sync", p->args.part, ret);
	close_file(p);
	ret = rename_part(p);
	if (!ret && durable)
		ret = sync_directory(p);
	return ret;
}

int pull_run(struct pull *p)
{
	int (*const steps[])(struct pull *) = {
		lookup,
		prepare_connection,
		connect_to_server,
		ask_for_region,
		make_buffers,
		open_part,
		transfer,
		pull_verify,
		settle,
	};
	int ret = 0;

	for (size_t i = 0; !ret && i < sizeof(steps) / sizeof(steps[0]); i++)
		ret = steps[i](p);
	/* the file is where it belongs: what becomes of the connection changes nothing any more */
	if (!ret)
		(void)pull_await_firm(p, rpma_uv_disconnect(p->conn, &p->op));
	rpma_uv_reactor_stats(&p->reactor, &p->reactor_stats);
	return ret;
}
