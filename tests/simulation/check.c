/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* check.c - what must hold: when a future is done, and at the end of a world */

#include <string.h>

#include "world.h"

static void act_print(const struct act *a)
{
	const struct end *e = a->end;

	fprintf(stderr, "act %u, %s, that has ended %s; asked %u, expected %d\n", a->number,
		kind_name(a->kind), a->status == 0 ? "well" : uv_err_name(a->status), a->asked,
		a->expected);
	if (e != NULL)
		fprintf(stderr, "of end %u:%s%s%s%s%s%s, error %d\n", e->number,
			e->was_ready ? " was ready" : "", e->has_ended ? " ended" : "",
			e->is_closing ? " closing" : "", e->is_taken ? " taken" : "",
			e->is_left ? " left" : "", e->is_forced ? " forced" : "", e->error);
	fprintf(stderr, "faults: %s\n", world.faults);
}

/* tells which act it is about */
#define ACT_CHECK(a, what)            \
	do {                          \
		if (!(what)) {        \
			act_print(a); \
			CHECK(what);  \
		}                     \
	} while (0)

/* ---- statuses -------------------------------------------------------------------------------- */

#define TRANSFER UV_EINVAL, UV_ENOTCONN, UV_EAGAIN, UV_EACCES, UV_EFAULT, UV_ETIMEDOUT, UV_ECANCELED
#define STATUSES 18

/* by what librpma_uv.h says of the call; "any other: the connection's first error" is in is_first() */
static const int documented[KINDS][STATUSES] = {
	[PEER] = { UV_EINVAL, UV_EADDRNOTAVAIL, UV_ENODEV, UV_EAI_AGAIN, UV_EAI_FAIL, UV_EAI_NONAME,
		UV_EAI_NODATA, UV_ETIMEDOUT, UV_ENOMEM, UV_ECANCELED },
	[CONNECT] = { UV_EINVAL, UV_EAI_AGAIN, UV_EAI_FAIL, UV_EAI_NONAME, UV_EAI_NODATA,
		UV_EADDRNOTAVAIL, UV_EHOSTUNREACH, UV_ECONNREFUSED, UV_ETIMEDOUT, UV_ENODEV,
		UV_ECONNRESET, UV_ENOMEM, UV_ECANCELED },
	[ACCEPT] = { UV_EINVAL, UV_ENODEV, UV_ECONNREFUSED, UV_ECONNRESET, UV_EHOSTUNREACH,
		UV_ETIMEDOUT, UV_ENOMEM, UV_ECANCELED },
	[REJECT] = { UV_EINVAL },
	[CONN_END] = { UV_ECANCELED, UV_ECONNRESET, UV_ENODEV, UV_ENETDOWN },
	[DISCONNECT] = { UV_ENOTCONN, UV_ECANCELED },
	[READ] = { TRANSFER },
	[WRITE] = { TRANSFER },
	[WRITE_IMM] = { TRANSFER, UV_ENOBUFS },
	[ATOMIC] = { UV_EINVAL, UV_ENOTSUP, UV_ENOTCONN, UV_EAGAIN, UV_EACCES, UV_ETIMEDOUT,
		UV_ECANCELED },
	[FLUSH] = { UV_EINVAL, UV_ENOTSUP, UV_ENOMEM, UV_ENOTCONN, UV_EAGAIN, UV_EACCES,
		UV_ETIMEDOUT, UV_ECANCELED },
	[PERSIST] = { UV_EINVAL, UV_EFAULT, UV_ENOTSUP, UV_ENOMEM, UV_ENOTCONN, UV_EAGAIN,
		UV_EACCES, UV_ETIMEDOUT, UV_ECANCELED },
	[SEND] = { TRANSFER, UV_EMSGSIZE, UV_ENOBUFS, UV_EREMOTEIO },
	[SEND_IMM] = { TRANSFER, UV_EMSGSIZE, UV_ENOBUFS, UV_EREMOTEIO },
	[RECV] = { UV_EINVAL, UV_EMSGSIZE, UV_ENOTCONN, UV_EAGAIN, UV_EFAULT, UV_ECANCELED },
	[SRQ_RECV] = { UV_EINVAL, UV_EMSGSIZE, UV_EAGAIN, UV_EFAULT, UV_ECANCELED },
	[RECONNECT] = { UV_EINVAL, UV_ENOMEM, UV_ECANCELED },
	[SLEEP] = { UV_ECANCELED },
	[PROMISE] = { UV_ECANCELED },
};

static bool is_documented(enum kind kind, int status)
{
	for (unsigned i = 0; i < STATUSES; i++) {
		if (documented[kind][i] == status)
			return true;
	}
	return false;
}

static bool is_data(const struct act *a)
{
	return a->kind >= READ && a->kind <= RECV;
}

/* somebody wanted it to end, or its connection, or all */
static bool may_be_cancelled(const struct act *a)
{
	const struct end *e = a->end;

	/* the connection that has taken it may have been left */
	if (a->kind == SRQ_RECV)
		return true;
	return (a->asked & ASKED_CANCEL) || !a->station->is_open ||
	       (e != NULL && (e->is_closing || e->is_left || e->is_lent));
}

/* a failure that is not of its own making has to be its connection's */
static void check_status(const struct act *a, int status)
{
	if (a->expected != NOT_KNOWN) {
		ACT_CHECK(a, status == a->expected);
		return;
	}
	if (a->kind >= ALL)
		return; /* its inputs' */
	if (a->asked & MUST_CANCEL)
		ACT_CHECK(a, status == UV_ECANCELED ||
				     ((a->asked & ASKED_TIMEOUT) && status == UV_ETIMEDOUT));
	if (status == UV_ECANCELED)
		ACT_CHECK(a, may_be_cancelled(a));
	if (status == UV_ETIMEDOUT && (a->asked & ASKED_TIMEOUT))
		return;
	if (status == UV_EAGAIN)
		ACT_CHECK(a, a->station->queue_bound > 0);
	if (status == UV_ENOTCONN && a->was_ready)
		ACT_CHECK(a, a->end->has_ended);
	if (status == UV_ECONNABORTED && a->end != NULL)
		ACT_CHECK(a, a->end->is_forced);
	if (status == UV_EINVAL && is_data(a) && !(a->kind == RECV && a->end->recv_size == 0))
		ACT_CHECK(a, world.may_refuse); /* what is wrong was expected */
}

/* the connection's first error; one that is forced goes by the name of the cancel */
static bool is_first(const struct act *a)
{
	if (a->kind == SRQ_RECV) {
		for (unsigned i = 0; i < world.end_count; i++) {
			if (world.ends[i].shared == a->shared && world.ends[i].error == a->status)
				return true;
		}
	}
	return a->end != NULL && a->end->has_ended && a->status == a->end->error;
}

/* what a work completion calls it */
static int status_of(uint32_t detail)
{
	switch (detail & 0xff) {
	case IBV_WC_RETRY_EXC_ERR:
		return UV_ETIMEDOUT;
	case IBV_WC_RNR_RETRY_EXC_ERR:
		return UV_ENOBUFS;
	case IBV_WC_REM_ACCESS_ERR:
		return UV_EACCES;
	case IBV_WC_REM_OP_ERR:
	case IBV_WC_REM_INV_REQ_ERR:
		return UV_EREMOTEIO;
	case IBV_WC_LOC_PROT_ERR:
		return UV_EFAULT;
	case IBV_WC_LOC_LEN_ERR:
		return UV_EMSGSIZE;
	case IBV_WC_SUCCESS: /* no detail */
	case IBV_WC_WR_FLUSH_ERR:
		return 0;
	default:
		return UV_EIO;
	}
}

/* "that of the device", which may not take it */
static bool is_refusal(const struct act *a)
{
	if (a->kind == PEER || a->kind == CONNECT || a->kind == ACCEPT)
		return world.has_faults && a->status == UV_EIO;
	return (is_data(a) || a->kind == SRQ_RECV) && world.may_refuse &&
	       (a->status == UV_ENOMEM || a->status == UV_EINVAL ||
		       (world.is_removed && a->status == UV_EIO));
}

/* ---- results --------------------------------------------------------------------------------- */

/* the last one: of an attempt that has failed it is not known when its connection was gone */
static struct end *end_of(const rpma_uv_conn_t *c)
{
	for (unsigned i = world.end_count; i-- > 0;) {
		if (world.ends[i].conn == c)
			return &world.ends[i];
	}
	return NULL;
}

static void check_received(struct act *a, const rpma_uv_future_t *f)
{
	rpma_uv_recv_info_t info;
	struct message *m;
	struct end *e;

	CHECK_OK(API(rpma_uv_recv_info(f, &info)));
	e = a->kind == RECV ? a->end : end_of(info.conn);
	ACT_CHECK(a, e != NULL);
	ACT_CHECK(a, info.conn == e->conn);
	ACT_CHECK(a, a->shared == e->shared || a->kind == RECV);
	ACT_CHECK(a, info.len == (size_t)f->result);
	ACT_CHECK(a, e->received_count < RECEIVED_MAX);
	m = &e->received[e->received_count++];
	*m = (struct message){
		.len = info.len,
		.imm = info.imm,
		.has_imm = info.has_imm,
		.is_write = info.is_write,
	};
	if (info.is_write) {
		const struct act *from;

		cover("a write's word received");
		ACT_CHECK(a, info.has_imm);
		ACT_CHECK(a, info.imm > 0 && info.imm <= world.act_count);
		from = &world.acts[info.imm];
		ACT_CHECK(a, from->kind == WRITE_IMM);
		ACT_CHECK(a, e->other == NULL || from->end == e->other);
		/* when it is here, all of the bytes are */
		ACT_CHECK(a, memory_holds(from->remote[0], from->number, from->len));
		ACT_CHECK(
			a, info.len == (from->len == 0 ? 0 : (from->len - 1) % world.max_msg + 1));
		return;
	}
	ACT_CHECK(a, info.len <= a->len);
	if (info.has_imm) {
		cover("a message with a word received");
		ACT_CHECK(a, info.imm > 0 && info.imm <= world.act_count);
		ACT_CHECK(a, world.acts[info.imm].kind == SEND_IMM);
		ACT_CHECK(a, world.acts[info.imm].len == info.len);
	}
	m->hash = memory_hash(a->local[0].at, info.len);
}

static void check_data(struct act *a, const rpma_uv_future_t *f)
{
	if (a->kind == RECV) {
		check_received(a, f);
		return;
	}
	ACT_CHECK(a, f->result == (int64_t)a->len);
	switch (a->kind) {
	case READ:
		ACT_CHECK(a, memcmp(a->local[0].at, a->remote[0], a->len) == 0);
		break;
	case WRITE:
	case WRITE_IMM:
	case ATOMIC:
		ACT_CHECK(a, memory_holds(a->remote[0], a->number, a->len));
		break;
	case PERSIST:
		for (unsigned i = 0; i < a->pieces; i++)
			ACT_CHECK(a, memory_holds(a->remote[i], a->number + i, a->local[i].len));
		break;
	default:
		break;
	}
}

/* the callbacks of what was posted on a send side come in the order of the calls */
static void check_order(struct act *a)
{
	struct end *e = a->end;

	if (a->kind == RECV || !a->was_posted)
		return;
	ACT_CHECK(a, a->number > e->last_posted);
	e->last_posted = a->number;
}

/* ---- parents --------------------------------------------------------------------------------- */

/* of the inputs that failed or succeeded, the first or the last to end; NULL: none did */
static const struct act *input_that(const struct act *a, bool failed, bool last)
{
	const struct act *found = NULL;

	for (unsigned i = 0; i < a->input_count; i++) {
		const struct act *input = a->inputs[i];

		if (input->is_pending || (input->status != 0) != failed)
			continue;
		if (found == NULL || (input->sequence > found->sequence) == last)
			found = input;
	}
	return found;
}

static unsigned inputs_failed(const struct act *a)
{
	unsigned failed = a->null_count;

	for (unsigned i = 0; i < a->input_count; i++)
		failed += !a->inputs[i]->is_pending && a->inputs[i]->status != 0;
	return failed;
}

static void check_all(const struct act *a, const rpma_uv_future_t *f)
{
	const rpma_uv_all_t *all = (const rpma_uv_all_t *)f;
	const struct act *first = input_that(a, true, false);
	unsigned failed = inputs_failed(a);

	if (a->expected != NOT_KNOWN)
		return;
	for (unsigned i = 0; i < a->input_count; i++)
		ACT_CHECK(a, !a->inputs[i]->is_pending);
	ACT_CHECK(a, all->total == a->input_count + a->null_count);
	ACT_CHECK(a, all->failed == failed);
	if (a->null_count > 0)
		ACT_CHECK(a, f->status == UV_ENOMEM);
	else
		ACT_CHECK(a, f->status == (first != NULL ? first->status : 0));
	ACT_CHECK(a, f->result == (int64_t)(all->total - failed));
}

static void check_any(const struct act *a, const rpma_uv_future_t *f)
{
	const rpma_uv_any_t *any = (const rpma_uv_any_t *)f;
	const struct act *won = input_that(a, false, false), *last = input_that(a, true, true);

	if (a->expected != NOT_KNOWN)
		return;
	ACT_CHECK(a, any->total == a->input_count + a->null_count);
	if (f->status == 0) {
		ACT_CHECK(a, won != NULL);
		ACT_CHECK(a, f->result == won->result);
		ACT_CHECK(a, any->winner < any->total);
		return;
	}
	ACT_CHECK(a, any->winner == any->total);
	ACT_CHECK(a, any->failed == any->total);
	ACT_CHECK(a, inputs_failed(a) == any->total);
	ACT_CHECK(a, f->status == (last != NULL ? last->status : UV_ENOMEM));
}

static void check_chain(const struct act *a, const rpma_uv_future_t *f)
{
	const struct act *last = a->input_count > 0 ? a->inputs[a->input_count - 1] : NULL;

	if (a->expected != NOT_KNOWN)
		return;
	ACT_CHECK(a, last != NULL);
	ACT_CHECK(a, !last->is_pending);
	if (a->input_count == 1 && last->status == 0) {
		/* next was not called, because of a cancel */
		ACT_CHECK(a, a->asked & (ASKED_CANCEL | ASKED_TIMEOUT));
		ACT_CHECK(a, f->status == UV_ECANCELED || f->status == UV_ETIMEDOUT);
		return;
	}
	ACT_CHECK(a, f->status == last->status);
	ACT_CHECK(a, f->result == last->result || f->status != 0);
}

/* ---- a future is done ------------------------------------------------------------------------ */

static void check_success(struct act *a, const rpma_uv_future_t *f)
{
	switch (a->kind) {
	case PEER:
		ACT_CHECK(a, a->peer != NULL);
		CHECK_OK(rpma_peer_delete(&a->peer));
		break;
	case CONNECT:
	case ACCEPT:
		a->end->was_ready = true;
		ACT_CHECK(a, API(rpma_uv_conn_remote_addr(a->end->conn))[0] != '\0');
		break;
	case SLEEP:
		ACT_CHECK(a, uv_now(&world.loop) >= a->began_ms + a->len);
		break;
	case PROMISE:
		ACT_CHECK(a, a->expected == 0);
		ACT_CHECK(a, f->result == (int64_t)a->len);
		break;
	default:
		break;
	}
}

void check_done(struct act *a, const rpma_uv_future_t *f, int status)
{
	a->status = status;
	a->detail = f->detail;
	CHECK(status <= 0);
	CHECK_INT(f->status, status);
	check_status(a, status);
	if (status == 0)
		check_success(a, f);
	else if (a->kind == PEER)
		ACT_CHECK(a, a->peer == NULL);
	if (is_data(a)) {
		/* the device's word is in the detail: it has had it */
		if (status == 0 || (f->detail & 0xff) != 0)
			a->was_posted = true;
		check_order(a);
		if (status == 0)
			check_data(a, f);
	}
	if (a->kind == SRQ_RECV && status == 0)
		check_received(a, f);
	if (a->kind == ALL)
		check_all(a, f);
	else if (a->kind == ANY)
		check_any(a, f);
	else if (a->kind == CHAIN)
		check_chain(a, f);
}

/* ---- the end of a world ---------------------------------------------------------------------- */

/* what was called "any other" is judged here, since the connection's end may have come later */
static void check_documented(const struct act *a)
{
	int status = a->status;

	if (a->is_unseen || status == 0 || status == a->expected || a->kind >= ALL)
		return;
	if (is_documented(a->kind, status))
		return;
	if (status == UV_ETIMEDOUT && (a->asked & ASKED_TIMEOUT))
		return;
	if (a->kind == PROMISE)
		return;
	if (a->kind == RECONNECT && (is_documented(CONNECT, status) || world.has_faults ||
					    (a->attempt != NULL && a->attempt->error == status)))
		return;
	if (is_refusal(a) ||
		((is_data(a) || a->kind == SRQ_RECV) && status == status_of(a->detail)))
		return;
	ACT_CHECK(a, is_first(a) || a->kind == CONN_END);
}

/* a write that has failed has left some of its bytes, or none, and nothing else */
static void check_written(const struct act *a)
{
	for (unsigned i = 0; i < a->pieces; i++) {
		size_t len = a->kind == PERSIST ? a->local[i].len : a->len;

		if (a->status == 0 && !a->is_unseen)
			ACT_CHECK(a, memory_holds(a->remote[i], a->number + i, len));
		else if (!world.is_garbled) /* until it is complete */
			ACT_CHECK(a, memory_may_hold(a->remote[i], a->number + i, len));
	}
}

static bool is_message(const struct act *a)
{
	return a->kind == SEND || a->kind == SEND_IMM || a->kind == WRITE_IMM;
}

/* what of the arena has been poisoned is made anew */
static bool is_of(const struct message *m, const struct act *a)
{
	static uint8_t bytes[ARENA_SIZE / 64];

	if (m->has_imm != (a->kind != SEND) || (m->has_imm && m->imm != a->number))
		return false;
	if (m->is_write != (a->kind == WRITE_IMM))
		return false;
	if (m->is_write)
		return true;
	if (m->len != a->len || a->len > sizeof(bytes))
		return false;
	memory_fill(bytes, a->number, a->len);
	return memory_hash(bytes, a->len) == m->hash;
}

/*
 * What one end has sent with success the other has received, in that order, and behind it nothing
 * but what was sent later, in that order too.
 */
static void check_messages(const struct end *from)
{
	const struct end *to = from->other;
	unsigned taken = 0, last_success = 0;
	const struct act *a;

	for (a = &world.acts[1]; a <= &world.acts[world.act_count]; a++) {
		if (a->end == from && is_message(a) && !a->is_unseen && a->status == 0)
			last_success = a->number;
	}
	for (a = &world.acts[1]; a <= &world.acts[world.act_count]; a++) {
		if (a->end != from || !is_message(a))
			continue;
		/* it was never posted: what comes behind one that failed fails */
		if (a->status != 0 && a->number < last_success)
			continue;
		if (taken < to->received_count && is_of(&to->received[taken], a))
			taken++;
		else if (a->status == 0 && !a->is_unseen)
			ACT_CHECK(a, world.is_removed);
	}
	CHECK_INT(taken, to->received_count);
}

void check_world(void)
{
	CHECK_INT(world.pending_count, 0);
	CHECK_INT(world.works_left, 0);
	for (unsigned i = 1; i <= world.act_count; i++) {
		const struct act *a = &world.acts[i];

		check_documented(a);
		if (a->kind == WRITE || a->kind == WRITE_IMM || a->kind == ATOMIC ||
			a->kind == PERSIST)
			check_written(a);
	}
	for (unsigned i = 0; i < world.end_count; i++) {
		const struct end *e = &world.ends[i];

		CHECK(e->conn == NULL);
		if (e->other != NULL)
			check_messages(e);
	}
	CHECK_OK(memory_check());
}

void check_quiet(const struct station *s)
{
	rpma_uv_reactor_stats_t stats;

	API_VOID(rpma_uv_reactor_stats(&s->reactor, &stats));
	CHECK_INT(stats.futures_pending, 0);
	CHECK_INT(stats.posted, 0);
	CHECK_INT(stats.slab_used, 0);
	CHECK_INT(stats.holds, 0);
	CHECK_INT(stats.conns, 0);
	CHECK_INT(stats.conns_ready, 0);
}
