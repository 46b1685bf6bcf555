/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * 02_done.c - done means that the hardware has let go
 *
 * Each operation has its storage on the heap and its bytes in a region and a mapping of their own. In its
 * callback all three go: the region is deregistered, the mapping unmapped, the storage freed. A device
 * that still uses one of them says so (softverbs in strict mode, the kernel by refusing or by a fault).
 */

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "promise.h"
#include "../softverbs/softverbs.h"

#define LEN 16384
#define N   24

struct work {
	rpma_uv_op_t op;
	struct memory memory;
	rpma_uv_piece_t piece;
	uint8_t *check; /* what a READ must have brought; NULL: any */
};

static unsigned begun, ended, failed;
static int statuses[2 * N + 8];

static void let_go(rpma_uv_future_t *f, int status)
{
	struct work *work = f->data;

	CHECK_INT(promise_inside, 0);
	if (status == 0 && work->check != NULL)
		CHECK(memcmp(work->memory.bytes, work->check, LEN) == 0);
	statuses[ended++] = status;
	failed += status != 0;
	memory_delete(&work->memory);
	memset(work, 0xee, sizeof(*work)); /* freed storage may look like anything */
	free(work);
}

static struct work *work_new(struct world *w)
{
	struct work *work = calloc(1, sizeof(*work));

	CHECK(work != NULL);
	memory_new(w, &work->memory, LEN);
	begun++;
	return work;
}

static void start(struct work *work, rpma_uv_future_t *f)
{
	CHECK(rpma_uv_then(f, let_go, work) == f);
}

static void a_recv(struct world *w, rpma_uv_conn_t *c)
{
	struct work *work = work_new(w);

	start(work, CALL(rpma_uv_recv(c, &work->op, local_of(&work->memory, 0), LEN)));
}

/* one of each kind; messages have a receive at the other end if with_recv */
static void one(struct world *w, struct pair *p, unsigned kind, bool with_recv)
{
	static const char word[RPMA_ATOMIC_WRITE_ALIGNMENT] = "eight b";
	struct work *work = work_new(w);
	rpma_uv_op_t *op = &work->op;
	rpma_uv_local_t local = local_of(&work->memory, 0);
	rpma_uv_remote_t remote = remote_of(&w->there, 0);
	rpma_uv_future_t *f;

	switch (kind) {
	case 0:
		work->check = w->there.bytes;
		f = CALL(rpma_uv_read(p->c, op, local, remote, LEN, 0));
		break;
	case 1:
		f = CALL(rpma_uv_write(p->c, op, remote_of(&w->there, LEN), local, LEN, 0));
		break;
	case 2:
		f = CALL(rpma_uv_send(p->c, op, local, LEN, 0));
		break;
	case 3:
		work->piece = (rpma_uv_piece_t){ local, remote_of(&w->there, LEN), LEN };
		f = CALL(rpma_uv_persist(p->c, op, &work->piece, 1, RPMA_FLUSH_TYPE_VISIBILITY, 0));
		break;
	case 4:
		f = CALL(rpma_uv_atomic_write(p->c, op, remote_of(&w->there, 2 * LEN), word, 0));
		break;
	default:
		f = CALL(rpma_uv_write_with_imm(
			p->c, op, remote_of(&w->there, LEN), local, LEN, 0, 1));
		break;
	}
	start(work, f);
	if (with_recv && (kind == 2 || kind > 4))
		a_recv(w, p->s);
}

static void begin(struct world *w)
{
	begun = ended = failed = 0;
	for (unsigned i = 0; i < LEN; i++)
		w->there.bytes[i] = (uint8_t)(i * 7);
}

/* messages come last, so that what they wait for holds up nothing else */
static void some_of_each(struct world *w, struct pair *p, bool with_recv)
{
	static const unsigned kinds[6] = { 0, 1, 3, 4, 2, 5 };

	for (unsigned i = 0; i < N; i++)
		one(w, p, kinds[i * 6 / N], with_recv);
}

static void successes(struct world *w)
{
	struct pair p = world_pair(w, 6, 6);

	begin(w);
	some_of_each(w, &p, true);
	UNTIL(w, ended == begun);
	CHECK_INT(failed, 0);
}

/* until the completion the memory of a READ or receive changes: it is the device's */
static void changing(struct world *w)
{
	CHECK_OK(softverbs_faults("payload:changes"));
	successes(w);
}

static void closed(struct world *w)
{
	struct pair p = world_pair(w, 6, 6);

	begin(w);
	some_of_each(w, &p, below(2) != 0);
	for (unsigned i = below(6); i > 0; i--)
		(void)uv_run(&w->loop, UV_RUN_NOWAIT);
	world_conn_close(w, p.c);
	/* of this end all have ended before its close callback; the peer's receives end with it */
	UNTIL(w, ended == begun);
}

static void forced(struct world *w)
{
	struct pair p = world_pair(w, 6, 6);
	struct op end;

	begin(w);
	watch(CALL(rpma_uv_conn_end(p.c, &end.op)), &end.done);
	for (unsigned i = 0; i < 4; i++)
		a_recv(w, p.c);
	struct work *work = work_new(w);
	start(work, CALL(rpma_uv_send(p.c, &work->op, local_of(&work->memory, 0), LEN, 0)));
	some_of_each(w, &p, false);
	world_glance(w);
	CHECK_OK(CALL(rpma_uv_cancel(&work->op.future, RPMA_UV_FORCE)));
	UNTIL(w, ended == begun);
	CHECK_INT(failed, begun);
	ENDS(w, end, UV_ECONNABORTED);
}

static void on_exit_of(uv_process_t *process, int64_t status, int signal)
{
	bool *is_over = process->data;

	CHECK_INT(status, 0);
	CHECK_INT(signal, 0);
	*is_over = true;
	uv_close((uv_handle_t *)process, NULL);
}

/* programs that start others: what lands in memory that was registered before lands in this process */
static void with_children(struct world *w)
{
	char *args[] = { "true", NULL };
	bool is_over = false;
	uv_process_options_t options = { .exit_cb = on_exit_of, .file = "true", .args = args };
	struct pair p = world_pair(w, 6, 6);
	uv_process_t process = { .data = &is_over };

	begin(w);
	for (unsigned i = 0; i < N; i++) {
		one(w, &p, 0, false);
		if (i == N / 2) {
			world_glance(w);
			CHECK_OK(uv_spawn(&w->loop, &process, &options));
		}
	}
	UNTIL(w, ended == begun);
	CHECK_INT(failed, 0); /* and let_go() has looked at the bytes */
	UNTIL(w, is_over);
	world_glance(w);
}

/* the peer closes while all is under way */
static void peer_goes(struct world *w)
{
	struct pair p = world_pair(w, 6, 6);

	begin(w);
	for (unsigned i = 0; i < 4; i++)
		a_recv(w, p.c);
	some_of_each(w, &p, false);
	world_glance(w);
	world_conn_close(w, p.s);
	UNTIL(w, ended == begun);
	CHECK(failed >= 4);
}

/* an operation that the peer refuses takes its connection along */
static void refused(struct world *w)
{
	struct pair p = world_pair(w, 6, 6);
	rpma_uv_remote_t gone;
	struct memory memory;
	struct work *work;

	begin(w);
	memory_new(w, &memory, LEN);
	gone = remote_of(&memory, 0);
	work = work_new(w);
	start(work, CALL(rpma_uv_write(p.c, &work->op, gone, local_of(&work->memory, 0), LEN, 0)));
	memory_delete(&memory);
	some_of_each(w, &p, false);
	UNTIL(w, ended == begun);
	/* or the peer's goodbye, which may come first */
	CHECK(statuses[0] == UV_EACCES || statuses[0] == UV_ECONNRESET);
	CHECK_INT(failed, begun);
}

static void shared(struct world *w)
{
	rpma_uv_conn_t *c = world_conn(w, &w->client, 0, 0), *s = world_conn(w, &w->server, 0, 0);
	struct op sends[2];
	rpma_uv_srq_t *srq;

	begin(w);
	CHECK_OK(rpma_uv_srq_new(&w->client, w->peer, 4, &srq));
	CHECK_OK(rpma_uv_conn_set_srq(c, srq));
	for (unsigned i = 0; i < 6; i++) {
		struct work *work = work_new(w);

		start(work,
			CALL(rpma_uv_srq_recv(srq, &work->op, local_of(&work->memory, 0), LEN)));
	}
	world_join(w, c, s);
	for (unsigned i = 0; i < 2; i++)
		op_send(s, &sends[i], &w->there, 0, LEN);
	for (unsigned i = 0; i < 2; i++)
		ENDS(w, sends[i], 0);
	UNTIL(w, ended == 2);
	world_conn_close(w, c);
	CALL_VOID(rpma_uv_srq_close(srq, NULL, NULL));
	UNTIL(w, ended == 6);
	CHECK_INT(failed, 4);
}

/* ---- reuse ----------------------------------------------------------------------------------- */

static struct pair again_pair;
static unsigned again_left;

static void again(rpma_uv_future_t *f, int status)
{
	struct world *w = f->data;
	rpma_uv_op_t *op = (rpma_uv_op_t *)f;

	CHECK_OK(status);
	CHECK_INT(w->here.bytes[0], (uint8_t)again_left);
	if (--again_left == 0)
		return;
	w->there.bytes[0] = (uint8_t)again_left;
	/* the same storage, the same bytes, by another operation than before */
	if (again_left % 2)
		f = rpma_uv_sleep(f->reactor, op, 0);
	else
		f = rpma_uv_read(
			again_pair.c, op, local_of(&w->here, 0), remote_of(&w->there, 0), LEN, 0);
	if (again_left % 2)
		w->here.bytes[0] = (uint8_t)again_left;
	CHECK(rpma_uv_then(f, again, w) == f);
}

static void reused(struct world *w)
{
	rpma_uv_op_t op;

	again_pair = world_pair(w, 2, 2);
	again_left = 100;
	w->there.bytes[0] = (uint8_t)again_left;
	CHECK(rpma_uv_then(rpma_uv_read(again_pair.c, &op, local_of(&w->here, 0),
				   remote_of(&w->there, 0), LEN, 0),
		      again, w) == &op.future);
	UNTIL(w, again_left == 0);
}

/* ---- the kernel's references ----------------------------------------------------------------- */

struct file_work {
	rpma_uv_op_t op;
	uv_buf_t buf;
	char *bytes;
	struct done done;
};

static void unmap(rpma_uv_future_t *f, int status)
{
	struct file_work *work = f->data;

	(void)status;
	CHECK_OK(munmap(work->bytes, LEN));
	f->data = &work->done;
	on_done(f, f->status);
}

static struct file_work *file_work_new(void)
{
	struct file_work *work = calloc(1, sizeof(*work));

	CHECK(work != NULL);
	work->bytes = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(work->bytes != MAP_FAILED);
	return work;
}

static void file_writes(struct world *w)
{
	rpma_uv_file_t *file = world_file(w, "writes", O_CREAT | O_TRUNC | O_RDWR, 0);
	struct file_work *works[N];
	static char back[N][LEN];
	int fd;

	for (unsigned i = 0; i < N; i++) {
		works[i] = file_work_new();
		memset(works[i]->bytes, (int)i + 1, LEN);
		works[i]->buf = uv_buf_init(works[i]->bytes, LEN);
		rpma_uv_then(CALL(rpma_uv_file_write(
				     file, &works[i]->op, &works[i]->buf, 1, (int64_t)i * LEN, 0)),
			unmap, works[i]);
	}
	for (unsigned i = 0; i < N; i++) {
		UNTIL(w, works[i]->done.times == 1);
		CHECK_OK(works[i]->done.status);
		free(works[i]);
	}
	fd = open(world_path(w, "writes"), O_RDONLY);
	CHECK(fd >= 0);
	CHECK_INT(read(fd, back, sizeof(back)), sizeof(back));
	for (unsigned i = 0; i < N; i++) {
		CHECK_INT(back[i][0], i + 1);
		CHECK_INT(back[i][LEN - 1], i + 1);
	}
	close(fd);
	CHECK_OK(unlink(world_path(w, "writes")));
}

/* a read that was called off: nothing lands in its memory when something is there to be read */
static void file_cancelled(struct world *w)
{
	rpma_uv_file_t *file;
	char bytes[2] = { 0 }, byte = 5;
	uv_buf_t buf = uv_buf_init(bytes, sizeof(bytes));
	struct op op;
	int fd;

	(void)unlink(world_path(w, "fifo"));
	CHECK_OK(mkfifo(world_path(w, "fifo"), 0600));
	file = world_file(w, "fifo", O_RDWR, 0);
	watch(CALL(rpma_uv_file_read(file, &op.op, &buf, 1, 0)), &op.done);
	world_glance(w);
	CHECK_INT(op.done.times, 0);
	CHECK_OK(CALL(rpma_uv_cancel(&op.op.future, 0)));
	ENDS(w, op, UV_ECANCELED);
	fd = open(world_path(w, "fifo"), O_RDWR | O_NONBLOCK);
	CHECK(fd >= 0);
	CHECK_INT(write(fd, &byte, 1), 1);
	/* where the kernel would read by itself, it would do so in a call of this thread */
	AWAIT(w, rpma_uv_sleep(&w->client, NULL, 1), 0);
	byte = 0;
	CHECK_INT(read(fd, &byte, 1), 1); /* nobody has taken it */
	CHECK_INT(byte, 5);
	CHECK_INT(bytes[0], 0);
	close(fd);
	CHECK_OK(unlink(world_path(w, "fifo")));
}

PROMISE_MAIN("02", { "success: storage, region and mapping go in the callback", successes },
	{ "memory changes until the completion, and not later", changing, ON_SOFTVERBS },
	{ "a child process is started meanwhile: what was read is right", with_children,
		ON_REAL_TIME },
	{ "closed with work posted and waiting", closed }, { "forced", forced },
	{ "the peer goes", peer_goes }, { "refused by the peer", refused },
	{ "receives of a shared queue", shared },
	{ "storage may be reused in the callback", reused },
	{ "a file's write: the kernel has no reference to its bytes", file_writes },
	{ "a file's read that was cancelled: nor to its bytes", file_cancelled })
