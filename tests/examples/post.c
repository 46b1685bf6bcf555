/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * post ADDR PORT - threads that work hard hand their results to the loop's thread, which writes
 * them to the server; each of them waits for its own
 */
#include <string.h>
#include "session.h"

#define THREADS 4
#define ROUNDS  8
#define SIZE    64
#define PLACE   4096 /* of the results in what the server offers */

static struct session s;
static struct rpma_mr_local *mr;
static char results[THREADS * SIZE];
static unsigned written;

struct worker {
	uv_thread_t thread;
	uv_sem_t done;
	rpma_uv_work_t work; /* one at a time */
	rpma_uv_op_t op;
	size_t offset;
};

/* the loop's thread */
static void on_written(rpma_uv_future_t *f, int status)
{
	struct worker *worker = f->data;

	if (status)
		fprintf(stderr, "%s\n", rpma_uv_strerror(f));
	must(status);
	written++;
	uv_sem_post(&worker->done);
}

/* the loop's thread, too: here everything of the library may be called */
static void on_work(rpma_uv_work_t *work)
{
	struct worker *worker = work->data;

	rpma_uv_then(
		rpma_uv_write(s.conn, &worker->op,
			(rpma_uv_remote_t){
				s.offer, PLACE + worker->offset },
			(rpma_uv_local_t){ mr, worker->offset }, SIZE, 0),
		on_written, worker);
}

/* another thread: posting is the one call that it may make */
static void run(void *arg)
{
	struct worker *worker = arg;
	int round;

	for (round = 0; round < ROUNDS; round++) {
		snprintf(results + worker->offset, SIZE,
			"result %d at %zu", round, worker->offset);
		worker->work.data = worker;
		must(rpma_uv_reactor_post(
			&s.reactor, &worker->work, on_work));
		uv_sem_wait(&worker->done);
	}
}

static void start(struct worker *worker, int i)
{
	worker->offset = (size_t)i * SIZE;
	must(uv_sem_init(&worker->done, 0));
	must(uv_thread_create(&worker->thread, run, worker));
}

int main(int argc, char **argv)
{
	struct worker workers[THREADS] = { { 0 } };
	int i;

	if (argc != 3)
		return 2;
	session_open(&s, argv[1], argv[2]);
	must(rpma_mr_reg(s.peer, results, sizeof(results),
		RPMA_MR_USAGE_WRITE_SRC, &mr));
	for (i = 0; i < THREADS; i++)
		start(&workers[i], i);

	/* what other threads will post cannot be seen: the loop is told to stay */
	rpma_uv_reactor_ref(&s.reactor);
	while (written < THREADS * ROUNDS)
		uv_run(s.loop, UV_RUN_ONCE);
	rpma_uv_reactor_unref(&s.reactor);

	for (i = 0; i < THREADS; i++) {
		must(uv_thread_join(&workers[i].thread));
		uv_sem_destroy(&workers[i].done);
	}
	printf("%u results written\n", written);
	session_close(&s);
	must(rpma_mr_dereg(&mr));
	return rpma_peer_delete(&s.peer) != 0;
}
