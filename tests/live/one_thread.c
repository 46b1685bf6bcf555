/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * one_thread.c - one thread does the work of a pull
 *
 * Proven: from the first READ to the last completion the process has no tasks but the loop's,
 *         libuv's
 * pool threads (started on purpose before) and the kernel's iou-wrk-*, and meanwhile the pool
 * threads neither used the processor nor were switched to: their ticks and context switches stand
 * still.
 */

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "live.h"

#define PORT   "7304"
#define REGION (16u << 20)
#define TASKS  32

/* of the flags in /proc: a thread that io_uring has made, whose name comes a moment later */
#define PF_IO_WORKER 0x10

struct task {
	int tid;
	char comm[32];
	unsigned flags;
	unsigned long ticks;
	unsigned long switches;
};

struct tasks {
	unsigned count;
	struct task task[TASKS];
};

static void read_file(int tid, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/%s", tid, name);
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0);
	got = read(fd, text, size - 1);
	CHECK(got > 0);
	text[got] = '\0';
	close(fd);
}

static void task_read(int tid, struct task *task)
{
	unsigned long utime, stime, voluntary, involuntary;
	const char *at;
	char text[4096];

	task->tid = tid;
	read_file(tid, "comm", text, sizeof(text));
	snprintf(task->comm, sizeof(task->comm), "%.*s", (int)strcspn(text, "\n"), text);
	read_file(tid, "stat", text, sizeof(text));
	at = strrchr(text, ')'); /* fields 9, 14 and 15 of proc(5) */
	CHECK(sscanf(at, ") %*c %*d %*d %*d %*d %*d %u %*u %*u %*u %*u %lu %lu", &task->flags,
		      &utime, &stime) == 3);
	task->ticks = utime + stime;
	read_file(tid, "status", text, sizeof(text));
	at = strstr(text, "\nvoluntary_ctxt_switches:");
	CHECK(at != NULL);
	CHECK(sscanf(at, "\nvoluntary_ctxt_switches: %lu\nnonvoluntary_ctxt_switches: %lu",
		      &voluntary, &involuntary) == 2);
	task->switches = voluntary + involuntary;
}

static void tasks_read(struct tasks *tasks)
{
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *entry;

	CHECK(dir != NULL);
	tasks->count = 0;
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		CHECK(tasks->count < TASKS);
		task_read(atoi(entry->d_name), &tasks->task[tasks->count++]);
	}
	closedir(dir);
}

static const struct task *find(const struct tasks *tasks, int tid)
{
	for (unsigned i = 0; i < tasks->count; i++) {
		if (tasks->task[i].tid == tid)
			return &tasks->task[i];
	}
	return NULL;
}

static struct tasks at_start, at_end;

/* every task of the end: the loop's, one of the ring's, or a pool thread that has done nothing */
static void compare(const struct tasks *start, const struct tasks *end)
{
	for (unsigned i = 0; i < end->count; i++) {
		const struct task *task = &end->task[i], *before = find(start, task->tid);

		/* the software device's own thread is what a card does by itself */
		if (task->tid == getpid() || (task->flags & PF_IO_WORKER) != 0 ||
			strcmp(task->comm, "softverbs") == 0)
			continue;
		if (before == NULL)
			printf("a new task: %s\n", task->comm);
		CHECK(before != NULL);
		CHECK_INT(task->ticks, before->ticks);
		CHECK_INT(task->switches, before->switches);
	}
}

static int on_chunk(rpma_uv_transfer_t *t, void *base, size_t len, uint64_t offset, void *data)
{
	struct tasks now;

	(void)t;
	(void)data;
	live_pattern_check(base, len, 3, offset);
	tasks_read(&now);
	compare(&at_start, &now);
	return 0;
}

static void on_pulled(rpma_uv_future_t *f, int status)
{
	(void)f;
	CHECK_OK(status);
	tasks_read(&at_end);
}

static int server(const char *addr)
{
	const struct live_offer offer = { .port = PORT, .size = REGION, .seed = 3, .clients = 1 };

	return live_serve(addr, &offer);
}

/* four pieces of work that wait for each other: every pool thread has started when they are done */
static uv_barrier_t barrier;

static void pool_work(uv_work_t *work)
{
	(void)work;
	uv_barrier_wait(&barrier);
}

static void pool_worked(uv_work_t *work, int status)
{
	(void)work;
	CHECK_OK(status);
}

/* idle is in a futex: a thread that is on its way there is not idle yet */
static void pool_await_idle(void)
{
	for (;;) {
		struct tasks now;
		unsigned asleep = 0;

		tasks_read(&now);
		for (unsigned i = 0; i < now.count; i++) {
			char text[4096];

			if (now.task[i].tid == getpid())
				continue;
			read_file(now.task[i].tid, "stat", text, sizeof(text));
			asleep += strrchr(text, ')')[2] == 'S';
		}
		if (asleep == now.count - 1)
			return;
	}
}

static void pool_start(uv_loop_t *loop)
{
	static uv_work_t work[4];

	CHECK_OK(uv_barrier_init(&barrier, 4));
	for (int i = 0; i < 4; i++)
		CHECK_OK(uv_queue_work(loop, &work[i], pool_work, pool_worked));
	CHECK_OK(uv_run(loop, UV_RUN_DEFAULT));
	pool_await_idle();
}

int main(void)
{
	const char *addr = live_addr(), *directory = getenv("NVME");
	static struct live_node node;
	const rpma_uv_transfer_opts_t opts = { .size = sizeof(opts), .on_chunk = on_chunk };
	struct rpma_mr_remote *remote;
	rpma_uv_transfer_t *transfer;
	rpma_uv_file_t *file;
	rpma_uv_conn_t *conn;
	rpma_uv_pool_t *pool;
	char path[256];

#ifdef __SANITIZE_THREAD__
	printf("the sanitizer has a thread of its own\n");
	return LIVE_SKIP;
#endif
	if (directory == NULL) {
		printf("no NVME: no place for the file\n");
		return LIVE_SKIP;
	}
	snprintf(path, sizeof(path), "%s/one_thread.out", directory);
	live_fork(server, addr);
	live_node_open(&node, addr, RPMA_UTIL_IBV_CONTEXT_REMOTE, NULL);
	pool_start(&node.loop);
	conn = live_connect(&node, addr, PORT, &remote);
	AWAIT(rpma_uv_pool_new(&node.reactor, &node.op, node.peer, NULL, &pool), 0);
	AWAIT(rpma_uv_file_open(&node.reactor, &node.op, path, O_CREAT | O_TRUNC | O_WRONLY, 0600,
		      RPMA_UV_FILE_DIRECT, &file),
		0);
	CHECK_OK(rpma_uv_transfer_new(pool, &opts, &transfer));
	tasks_read(&at_start);
	CHECK(at_start.count >= 5); /* the loop's and the pool's four: else nothing is compared */
	rpma_uv_then(rpma_uv_pull(transfer, &node.op, conn, (rpma_uv_remote_t){ remote, 0 }, REGION,
			     file, 0),
		on_pulled, NULL);
	CHECK_OK(uv_run(&node.loop, UV_RUN_DEFAULT));
	compare(&at_start, &at_end);
	printf("figure: %u tasks before, %u after, the pool's stood still\n", at_start.count,
		at_end.count);
	CHECK_OK(rpma_uv_transfer_delete(&transfer));
	CHECK_OK(rpma_mr_remote_delete(&remote));
	live_node_close(&node);
	live_join();
	return 0;
}
