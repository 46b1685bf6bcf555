/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * 12_guest.c - the library prints nothing, ends no process, and leaves signals and threads alone
 *
 * Meanwhile every public function is called, well and badly, and devices and peers go.
 */

#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calls.h"
#include "../softverbs/softverbs.h"

#define LEN 64

#define SIGNALS 65 /* numbers begin with 1 */

#define POOL_THREADS 4 /* libuv's, unless UV_THREADPOOL_SIZE says more */

static struct stage stage;

/* ---- what happens meanwhile ------------------------------------------------------------------ */

static void everything(struct world *w)
{
	stage_set(&stage, w);
	stage_make_all(&stage, false);
	world_glance(w);
	stage_end(&stage);
}

/* arguments that are wrong, states that are wrong, addresses where nobody is */
static void mistakes(struct world *w)
{
	rpma_uv_conn_t *c = world_conn(w, &w->client, 0, 0), *none;
	struct op ops[8];
	struct rpma_peer *peer = NULL;
	rpma_uv_file_t *file;
	rpma_uv_ep_t *ep;
	unsigned n = 0;

	CHECK_INT(rpma_uv_conn_new(&w->client, NULL, NULL, &none), UV_EINVAL);
	CHECK_INT(rpma_uv_cancel(NULL, 0), UV_EINVAL);
	CHECK(rpma_uv_listen(&w->client, w->peer, "no number", "1", 0, NULL, NULL, &ep) < 0);
	watch(rpma_uv_read(c, &ops[n].op, no_local, no_remote, 0, 0), &ops[n].done);
	n++;
	watch(rpma_uv_connect(c, &ops[n].op, world_addr(), "1", NULL), &ops[n].done);
	n++;
	watch(rpma_uv_peer_new(
		      &w->client, &ops[n].op, "192.0.2.77", RPMA_UTIL_IBV_CONTEXT_LOCAL, &peer),
		&ops[n].done);
	n++;
	watch(rpma_uv_file_open(&w->client, &ops[n].op, "/none/such", O_RDONLY, 0, 0, &file),
		&ops[n].done);
	n++;
	for (unsigned i = 0; i < n; i++) {
		UNTIL(w, ops[i].done.times == 1);
		CHECK(ops[i].done.status < 0);
		(void)rpma_uv_strerror(&ops[i].op.future);
	}
}

static void peer_goes(struct world *w)
{
	struct pair p = world_pair(w, 0, 0);
	struct op ops[8];

	for (unsigned i = 0; i < 8; i++)
		op_recv(p.c, &ops[i], &w->here, 0, LEN);
	world_conn_close(w, p.s);
	for (unsigned i = 0; i < 8; i++)
		ENDS(w, ops[i], UV_ECONNRESET);
}

static void device_goes(struct world *w)
{
	stage_set(&stage, w);
	stage_make_all(&stage, false);
	CHECK_OK(softverbs_faults("device:remove"));
	stage_end(&stage);
}

/* ---- what it must not do --------------------------------------------------------------------- */

/* what the process writes is kept, and is nothing */
static void prints_nothing(struct world *w, void (*act)(struct world *w))
{
	int kept[2], file = memfd_create("output", 0);
	struct stat st;

	CHECK(file >= 0);
	/* a debug build of librpma logs to stderr by itself, as its contract has it */
	CHECK_OK(rpma_log_set_threshold(RPMA_LOG_THRESHOLD_AUX, RPMA_LOG_DISABLED));
	fflush(NULL);
	for (int i = 0; i < 2; i++) {
		kept[i] = dup(i + 1);
		CHECK(kept[i] >= 0);
		CHECK(dup2(file, i + 1) == i + 1);
	}
	act(w);
	fflush(NULL);
	for (int i = 0; i < 2; i++) {
		CHECK(dup2(kept[i], i + 1) == i + 1);
		CHECK_OK(close(kept[i]));
	}
	CHECK_OK(fstat(file, &st));
	if (st.st_size > 0) {
		char text[1024];
		ssize_t got = pread(file, text, sizeof(text), 0);

		fprintf(stderr, "%.*s\n", (int)got, text);
	}
	CHECK_INT(st.st_size, 0);
	CHECK_OK(close(file));
}

static void quiet_calls(struct world *w)
{
	prints_nothing(w, everything);
}

static void quiet_mistakes(struct world *w)
{
	prints_nothing(w, mistakes);
}

static void quiet_peer(struct world *w)
{
	prints_nothing(w, peer_goes);
}

static void quiet_device(struct world *w)
{
	prints_nothing(w, device_goes);
}

/* before anything of the library has run */
static struct sigaction actions[SIGNALS];
static sigset_t mask;

static void signals(struct world *w)
{
	struct sigaction after;
	sigset_t mask_after;

	mistakes(w);
	everything(w);
	for (int i = 1; i < SIGNALS; i++) {
		if (sigaction(i, NULL, &after))
			continue; /* libc keeps it to itself */
		CHECK(actions[i].sa_handler == after.sa_handler);
		CHECK_INT(after.sa_flags, actions[i].sa_flags);
	}
	CHECK_OK(sigprocmask(SIG_SETMASK, NULL, &mask_after));
	for (int i = 1; i < SIGNALS; i++)
		CHECK_INT(sigismember(&mask_after, i), sigismember(&mask, i));
}

/* all but the software device's and the kernel's own */
static unsigned threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *entry;
	unsigned count = 0;

	CHECK(dir != NULL);
	while ((entry = readdir(dir)) != NULL) {
		char path[300], comm[32] = "";
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		file = entry->d_name[0] != '.' ? fopen(path, "r") : NULL;
		if (file == NULL)
			continue;
		CHECK(fgets(comm, sizeof(comm), file) != NULL);
		fclose(file);
		count += strcmp(comm, "softverbs\n") != 0 && strncmp(comm, "iou-", 4) != 0;
	}
	closedir(dir);
	return count;
}

static void nothing(uv_work_t *work)
{
	(void)work;
}

static void pool_started(uv_work_t *work, int status)
{
	bool *is_done = work->data;

	CHECK_OK(status);
	*is_done = true;
}

/* to be the first: a pool that was started stays */
static void own_threads(struct world *w)
{
	const rpma_uv_pool_opts_t opts = { .size = sizeof(opts), .count = 2, .chunk = 4096 };
	unsigned before = threads();
	bool is_done = false;
	uv_work_t work = { .data = &is_done };
	uv_buf_t buf = uv_buf_init("x", 1);
	rpma_uv_file_t *file;
	rpma_uv_pool_t *pool;
	struct op op, send, recv;
	struct pair p;

	/* addresses are numbers, and regions small: not even libuv's pool is needed */
	p = world_pair(w, 0, 0);
	op_read(w, p.c, &op, 0, LEN);
	ENDS(w, op, 0);
	op_recv(p.s, &recv, &w->there, 0, LEN);
	op_send(p.c, &send, &w->here, 0, LEN);
	ENDS(w, send, 0);
	ENDS(w, recv, 0);
	AWAIT(w, rpma_uv_pool_new(&w->client, NULL, w->peer, &opts, &pool), 0);
	file = world_file(w, "guest", O_CREAT | O_RDWR, 0);
	AWAIT(w, rpma_uv_file_write(file, NULL, &buf, 1, 0, 0), 0);
	AWAIT(w, rpma_uv_file_sync(file, NULL), 0);
	CHECK_OK(unlink(world_path(w, "guest")));
	CHECK_INT(threads(), before);

	/* libuv's pool, and no more than that */
	CHECK_OK(uv_queue_work(&w->loop, &work, nothing, pool_started));
	UNTIL(w, is_done);
	CHECK(threads() <= before + POOL_THREADS);
	before = threads();
	everything(w);
	CHECK_INT(threads(), before);
}

/* ---- what it cannot do ----------------------------------------------------------------------- */

static bool is_one_of(const char *name, const char *const list[])
{
	for (unsigned i = 0; list[i] != NULL; i++) {
		if (strcmp(name, list[i]) == 0)
			return true;
	}
	return false;
}

typedef ElfW(Ehdr) elf_t;
typedef ElfW(Shdr) section_t;
typedef ElfW(Sym) symbol_t;

/* counters of coverage ask for functions of their own: then no wire shows what the library does */
#ifdef HAS_COUNTERS
enum { ON_PLAIN_BUILDS = ON_ALL + 1 };
#else
enum { ON_PLAIN_BUILDS = ON_ALL };
#endif

/* the functions that librpma_uv asks others for; fails on one that it has no business with */
static void imports(struct world *w)
{
	static const char *const forbidden[] = { "exit", "_exit", "_Exit", "quick_exit", "abort",
		"raise", "kill", "signal", "sigaction", "sigprocmask", "pthread_sigmask",
		"pthread_create", "thrd_create", "uv_thread_create", "uv_signal_start", "fork",
		"printf", "puts", "putchar", "vprintf", "fprintf", "vfprintf", "fputs", "fputc",
		"fwrite", "perror", "syslog", "vsyslog", "stdout", "stderr", "sleep", "usleep",
		"nanosleep", "uv_sleep", NULL };
	unsigned seen = 0, reads = 0;
	const section_t *sections;
	const elf_t *elf;
	struct stat st;
	Dl_info info;
	int fd;

	(void)w;
	CHECK(dladdr((void *)(uintptr_t)rpma_uv_read, &info) != 0);
	fd = open(info.dli_fname, O_RDONLY);
	CHECK(fd >= 0);
	CHECK_OK(fstat(fd, &st));
	elf = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(elf != MAP_FAILED);
	CHECK_OK(close(fd));
	sections = (const void *)((const char *)elf + elf->e_shoff);
	for (unsigned i = 0; i < elf->e_shnum; i++) {
		const section_t *section = &sections[i];
		const symbol_t *symbols = (const void *)((const char *)elf + section->sh_offset);
		const char *names;

		if (section->sh_type != SHT_DYNSYM)
			continue;
		names = (const char *)elf + sections[section->sh_link].sh_offset;
		for (unsigned k = 1; k < section->sh_size / sizeof(*symbols); k++) {
			const char *name = names + symbols[k].st_name;

			if (symbols[k].st_shndx != SHN_UNDEF)
				continue;
			seen++;
			reads += strcmp(name, "uv_poll_init") == 0;
			if (is_one_of(name, forbidden))
				live_fail(__FILE__, __LINE__, name);
		}
	}
	CHECK(seen > 20);
	CHECK_INT(reads, 1); /* the witness can see */
	CHECK_OK(munmap((void *)(uintptr_t)elf, (size_t)st.st_size));
}

int main(int argc, char *argv[])
{
	static const struct promise_check checks[] = { { "no thread of its own beyond libuv's pool",
							       own_threads, ON_REAL_TIME },
		{ "prints nothing, whatever is called", quiet_calls },
		{ "prints nothing, whatever is wrong", quiet_mistakes },
		{ "prints nothing when a peer goes", quiet_peer },
		{ "installs no signal handler, and blocks no signal", signals },
		{ "has nothing to exit, abort, print or start a thread with", imports,
			ON_PLAIN_BUILDS },
		/* the last one, for it stays away */
		{ "prints nothing when the device goes, and ends no process", quiet_device,
			ON_SOFTVERBS } };

	for (int i = 1; i < SIGNALS; i++)
		(void)sigaction(i, NULL, &actions[i]);
	CHECK_OK(sigprocmask(SIG_SETMASK, NULL, &mask));
	return promise_main(argc, argv, "12", checks, sizeof(checks) / sizeof(checks[0]));
}
