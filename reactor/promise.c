/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* promise.c - futures that the program completes, or the clock */

#include "deadline.h"
#include "future_object.h"
#include "reactor.h"

/* on reactor->promises until it is finished, whoever does it */
struct RPMA_UV__ROOM rpma_uv__promise {
	TAILQ_ENTRY(rpma_uv__promise) link;
	struct rpma_uv__deadline deadline; /* of a sleep; a promise has none */
};

static struct rpma_uv__promise *promise_of(rpma_uv_future_t *f)
{
	return rpma_uv__room(struct rpma_uv__promise, rpma_uv__op_of(f));
}

/* pending, or refused, or NULL */
static rpma_uv_future_t *begin(
	struct rpma_uv__reactor *r, rpma_uv_op_t *op, const struct rpma_uv__kind *kind)
{
	if (r->closing)
		return rpma_uv__op_fail(r, op, kind, UV_ECANCELED);
	op = rpma_uv__op_begin(r, op, kind);
	if (op == NULL)
		return NULL;
	TAILQ_INSERT_TAIL(&r->promises, promise_of(&op->future), link);
	return &op->future;
}

static void end(rpma_uv_future_t *f, int status, int64_t result)
{
	struct rpma_uv__reactor *r = f->reactor->impl;

	TAILQ_REMOVE(&r->promises, promise_of(f), link);
	rpma_uv__future_finish(f, status, result, 0);
}

/* ---- promises -------------------------------------------------------------------------------- */

static int promise_cancel(rpma_uv_future_t *f, unsigned how)
{
	(void)how;
	end(f, UV_ECANCELED, 0);
	return 0;
}

static const struct rpma_uv__kind promise_kind = {
	.name = "promise",
	.cancel = promise_cancel,
};

rpma_uv_future_t *rpma_uv_promise(rpma_uv_reactor_t *r, rpma_uv_op_t *op)
{
	return begin(r->impl, op, &promise_kind);
}

int rpma_uv_resolve(rpma_uv_future_t *f, int status, int64_t result)
{
	if (f == NULL || f->u_kind != &promise_kind || status > 0)
		return UV_EINVAL;
	if (!rpma_uv__future_is_pending(f))
		return UV_EALREADY;
	end(f, status, result);
	return 0;
}

/* ---- sleeps ---------------------------------------------------------------------------------- */

static void sleep_expired(struct rpma_uv__deadline *d)
{
	struct rpma_uv__promise *sleep =
		rpma_uv__container_of(d, struct rpma_uv__promise, deadline);

	end(&rpma_uv__op_of_room(sleep)->future, 0, 0);
}

static int sleep_cancel(rpma_uv_future_t *f, unsigned how)
{
	(void)how;
	rpma_uv__deadline_clear(f->reactor->impl, &promise_of(f)->deadline);
	end(f, UV_ECANCELED, 0);
	return 0;
}

static const struct rpma_uv__kind sleep_kind = {
	.name = "sleep",
	.cancel = sleep_cancel,
};

rpma_uv_future_t *rpma_uv_sleep(rpma_uv_reactor_t *r, rpma_uv_op_t *op, uint64_t ms)
{
	rpma_uv_future_t *f = begin(r->impl, op, &sleep_kind);

	if (f == NULL || !rpma_uv__future_is_pending(f))
		return f;
	rpma_uv__deadline_init(&promise_of(f)->deadline, sleep_expired);
	rpma_uv__deadline_set(r->impl, &promise_of(f)->deadline, ms);
	return f;
}

void rpma_uv__promises_cancel(struct rpma_uv__reactor *r)
{
	struct rpma_uv__promise *promise;

	while ((promise = TAILQ_FIRST(&r->promises)) != NULL)
		(void)rpma_uv__future_cancel(&rpma_uv__op_of_room(promise)->future, 0);
}
