/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * seed_uv.c - libuv's thread pool without threads, in a simulation
 *
 *                timer                       sv_seed_jobs_run()             timer
 *     WAITING ----------> DUE (on due_jobs) -------------------> WORKED ----------> on loop->wq
 *        `----------------- uv_cancel() ---> CANCELED -------------------------------^
 *
 * uv_queue_work() and uv_getaddrinfo() of a shared libuv come here. The work is done in the loop's
 * thread, from inside the call in which the loop waits, at a moment drawn from the seed. Then, at
 * another such moment, the request goes the way that libuv's own threads take: it is put on the loop's
 * queue of finished work, and the loop's asynchronous handle is sent; the loop itself calls back. The
 * loop is kept alive meanwhile as libuv does it, by its count of active requests. All of that is in
 * libuv's public headers, and has been the same in all of its versions since 1.19.
 *
 * What else uses the pool (uv_fs_*, uv_getnameinfo, uv_random) still does, outside of the order of the
 * seed. A libuv that is linked statically is not reached.
 */

#include <dlfcn.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "device.h"
#include "seed.h"

enum job_state { JOB_WAITING, JOB_DUE, JOB_WORKED, JOB_CANCELED };

struct job {
	struct list node; /* on jobs */
	struct list due; /* on due_jobs */
	struct sv_timer timer; /* to the next state */
	enum job_state state;
	unsigned number;
	uv_loop_t *loop;
	uv_req_t *req;
	struct uv__work *work; /* inside of req; what goes on loop->wq */
	/* of a look-up */
	char *node_name;
	char *service;
	bool has_hints;
	struct addrinfo hints;
};

static struct list jobs = { &jobs, &jobs };
static struct list due_jobs = { &due_jobs, &due_jobs };

/* the next definition of a symbol, that of libuv; NULL: there is none, and nobody should ask */
static void *next_of(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

static void job_free(struct job *job)
{
	sv_timer_stop(&job->timer);
	list_remove(&job->node);
	list_remove(&job->due);
	free(job->node_name);
	free(job->service);
	free(job);
}

/* ---- the way back into the loop -------------------------------------------------------------- */

static struct job *job_of_work(const struct uv__work *work)
{
	list_each(struct job, job, &jobs, node) if (job->work == work) return job;
	return NULL;
}

/* called by the loop, without the lock; status is libuv's idea of it */
static void job_done(struct uv__work *work, int status)
{
	struct job *job;
	uv_req_t *req;
	bool canceled;

	(void)status;
	sv_lock();
	job = job_of_work(work);
	req = job->req;
	canceled = job->state == JOB_CANCELED;
	job->loop->active_reqs.count--;
	job_free(job);
	sv_unlock();
	if (req->type == UV_WORK) {
		uv_work_t *w = (uv_work_t *)req;

		if (w->after_work_cb != NULL)
			w->after_work_cb(w, canceled ? UV_ECANCELED : 0);
	} else {
		uv_getaddrinfo_t *g = (uv_getaddrinfo_t *)req;

		if (canceled)
			g->retcode = UV_EAI_CANCELED;
		g->cb(g, g->retcode, g->addrinfo);
	}
}

static void no_work(struct uv__work *work)
{
	(void)work;
}

/* what a thread of the pool does at its end; a queue is two pointers: next, previous */
static void give_back(struct job *job)
{
	void **head = (void **)&job->loop->wq;
	void **node = (void **)&job->work->wq;
	int (*send)(uv_async_t *) = NULL;

	*(void **)&send = next_of("uv_async_send");
	job->work->work = no_work;
	job->work->done = job_done;
	job->work->loop = job->loop;
	pthread_mutex_lock(&job->loop->wq_mutex);
	node[0] = head;
	node[1] = head[1];
	((void **)node[1])[0] = node;
	head[1] = node;
	if (send != NULL)
		(void)send(&job->loop->wq_async);
	pthread_mutex_unlock(&job->loop->wq_mutex);
	sv_seed_touched = true;
}

static void fire(struct sv_timer *timer)
{
	struct job *job = container_of(timer, struct job, timer);

	if (job->state == JOB_WAITING) {
		job->state = JOB_DUE;
		list_push(&due_jobs, &job->due);
		return;
	}
	sv_trace(job->state == JOB_CANCELED ? SV_STEP_JOB_CANCELED : SV_STEP_JOB_DONE, job->number,
		0, 0);
	give_back(job);
}

/* ---- the work -------------------------------------------------------------------------------- */

static int eai_to_uv(int code)
{
	switch (code) {
	case 0:
		return 0;
	case EAI_AGAIN:
		return UV_EAI_AGAIN;
	case EAI_BADFLAGS:
		return UV_EAI_BADFLAGS;
	case EAI_FAIL:
		return UV_EAI_FAIL;
	case EAI_FAMILY:
		return UV_EAI_FAMILY;
	case EAI_MEMORY:
		return UV_EAI_MEMORY;
	case EAI_SERVICE:
		return UV_EAI_SERVICE;
	case EAI_SOCKTYPE:
		return UV_EAI_SOCKTYPE;
	default:
		return UV_EAI_NONAME;
	}
}

static void work(struct job *job)
{
	if (job->req->type == UV_WORK) {
		uv_work_t *w = (uv_work_t *)job->req;

		w->work_cb(w);
	} else {
		uv_getaddrinfo_t *g = (uv_getaddrinfo_t *)job->req;

		g->retcode = eai_to_uv(getaddrinfo(job->node_name, job->service,
			job->has_hints ? &job->hints : NULL, &g->addrinfo));
	}
}

bool sv_seed_jobs_run(void)
{
	bool some = !list_empty(&due_jobs);

	while (!list_empty(&due_jobs)) {
		struct job *job = list_first(&due_jobs, struct job, due);

		sv_lock();
		list_remove(&job->due);
		job->state = JOB_WORKED; /* from here on it cannot be cancelled */
		sv_trace(SV_STEP_JOB, job->number, 0, 0);
		sv_unlock();
		work(job);
		sv_lock();
		sv_timer_set(&job->timer, sv_clock->now_ns() + sv_seed_delay_ns());
		sv_unlock();
	}
	return some;
}

unsigned sv_seed_jobs_left(void)
{
	unsigned n = 0;

	list_each(struct job, job, &jobs, node) n++;
	return n;
}

/* ---- libuv's calls --------------------------------------------------------------------------- */

static struct job *job_new(uv_loop_t *loop, uv_req_t *req, struct uv__work *uv_work)
{
	struct job *job = calloc(1, sizeof(*job));

	if (job == NULL)
		return NULL;
	list_init(&job->node);
	list_init(&job->due);
	sv_timer_init(&job->timer, fire);
	job->loop = loop;
	job->req = req;
	job->work = uv_work;
	return job;
}

static void job_start(struct job *job)
{
	sv_lock();
	job->loop->active_reqs.count++;
	job->number = ++sv_numbers.jobs;
	list_push(&jobs, &job->node);
	sv_timer_set(&job->timer, sv_clock->now_ns() + sv_seed_delay_ns());
	sv_unlock();
}

SV_EXPORT int uv_queue_work(
	uv_loop_t *loop, uv_work_t *req, uv_work_cb work_cb, uv_after_work_cb after_work_cb)
{
	__typeof__(&uv_queue_work) next = NULL;
	struct job *job;

	if (!sv_seed_is_on()) {
		*(void **)&next = next_of("uv_queue_work");
		return next != NULL ? next(loop, req, work_cb, after_work_cb) : UV_ENOSYS;
	}
	if (work_cb == NULL)
		return UV_EINVAL;
	job = job_new(loop, (uv_req_t *)req, &req->work_req);
	if (job == NULL)
		return UV_ENOMEM;
	req->type = UV_WORK;
	req->loop = loop;
	req->work_cb = work_cb;
	req->after_work_cb = after_work_cb;
	job_start(job);
	return 0;
}

static bool copy_text(const char *from, char **to)
{
	if (from == NULL)
		return true;
	*to = strdup(from);
	return *to != NULL;
}

SV_EXPORT int uv_getaddrinfo(uv_loop_t *loop, uv_getaddrinfo_t *req, uv_getaddrinfo_cb cb,
	const char *node, const char *service, const struct addrinfo *hints)
{
	__typeof__(&uv_getaddrinfo) next = NULL;
	struct job *job;

	if (!sv_seed_is_on() || cb == NULL) { /* without a callback it is done on the spot */
		*(void **)&next = next_of("uv_getaddrinfo");
		return next != NULL ? next(loop, req, cb, node, service, hints) : UV_ENOSYS;
	}
	if (req == NULL || (node == NULL && service == NULL))
		return UV_EINVAL;
	job = job_new(loop, (uv_req_t *)req, &req->work_req);
	if (job == NULL)
		return UV_ENOMEM;
	if (!copy_text(node, &job->node_name) || !copy_text(service, &job->service)) {
		job_free(job);
		return UV_ENOMEM;
	}
	job->has_hints = hints != NULL;
	if (hints != NULL)
		job->hints = *hints;
	req->type = UV_GETADDRINFO;
	req->loop = loop;
	req->cb = cb;
	req->addrinfo = NULL;
	req->hints = NULL;
	req->service = NULL;
	req->hostname = NULL;
	req->retcode = 0;
	job_start(job);
	return 0;
}

/* 1: not one of ours */
static int cancel(const uv_req_t *req)
{
	list_each(struct job, job, &jobs, node)
	{
		if (job->req != req)
			continue;
		if (job->state > JOB_DUE)
			return UV_EBUSY;
		list_remove(&job->due);
		job->state = JOB_CANCELED;
		sv_timer_set(&job->timer, sv_clock->now_ns() + sv_seed_delay_ns());
		return 0;
	}
	return 1;
}

SV_EXPORT int uv_cancel(uv_req_t *req)
{
	__typeof__(&uv_cancel) next = NULL;
	int ret = 1;

	if (sv_seed_is_on()) {
		sv_lock();
		ret = cancel(req);
		sv_unlock();
	}
	if (ret <= 0)
		return ret;
	*(void **)&next = next_of("uv_cancel");
	return next != NULL ? next(req) : UV_ENOSYS;
}
