/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * pull.c - rpma pull: the arguments, and the frame around the steps
 */

#include <assert.h>
#include <getopt.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "commands.h"
#include "pull.h"
#include "size.h"

#define CHUNK_DEFAULT ((size_t)256 * 1024)
#define CHUNK_LIMIT   ((size_t)1 << 30) /* verbs carry up to 2 GiB in one message */
#define CHUNK_UNIT    4096
#define DEPTH_DEFAULT 16
#define DEPTH_LIMIT   4096

static const char help[] =
	"Usage: rpma pull HOST:PORT FILE [OPTION...]\n"
	"Fetch the region that 'rpma serve' exports at HOST:PORT into FILE, which is replaced.\n"
	"\n"
	"  -d, --durability WHEN  what is on the disk, and when: group (a sync each 16 MiB, the\n"
	"                         default), final (one at the end), dsync (each write), none\n"
	"  -c, --chunk SIZE       bytes of one read, a multiple of 4K (default: 256K)\n"
	"  -n, --depth N          reads in flight, and buffers of that size (default: 16)\n"
	"  -o, --offset SIZE      where in the region to begin (default: 0)\n"
	"  -l, --length SIZE      how much of it (default: the rest)\n"
	"  -V, --verify           read FILE back and compare its SHA-256 with the source's\n"
	"  -j, --json             one JSON object on stdout, also when it fails\n"
	"  -q, --quiet            no progress, no summary\n"
	"  -h, --help\n"
	"\n"
	"SIZE takes one of the suffixes K, M, G, T, which are powers of 1024.\n"
	"The bytes arrive in FILE.part, which becomes FILE when they are all there, and stays, "
	"right\n"
	"up to the reported watermark, when something fails.\n"
	"\n" EXIT_HELP;

static const struct option options[] = {
	{ "chunk", required_argument, NULL, 'c' },
	{ "depth", required_argument, NULL, 'n' },
	{ "durability", required_argument, NULL, 'd' },
	{ "help", no_argument, NULL, 'h' },
	{ "json", no_argument, NULL, 'j' },
	{ "length", required_argument, NULL, 'l' },
	{ "offset", required_argument, NULL, 'o' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "verify", no_argument, NULL, 'V' },
	{ 0 },
};

const char *const pull_durabilities[PULL_DURABILITY_COUNT] = {
	[RPMA_UV_DURABILITY_GROUP] = "group",
	[RPMA_UV_DURABILITY_NONE] = "none",
	[RPMA_UV_DURABILITY_DSYNC] = "dsync",
	[RPMA_UV_DURABILITY_FINAL] = "final",
};

static int parse_durability(enum rpma_uv_durability *durability, const char *value)
{
	for (unsigned i = 0; i < PULL_DURABILITY_COUNT; i++) {
		if (strcmp(value, pull_durabilities[i]) == 0) {
			*durability = (enum rpma_uv_durability)i;
			return 0;
		}
	}
	return fail(
		EXIT_USAGE, "pull: --durability: '%s' is none of dsync, final, group, none", value);
}

/* a size from min to max that unit divides */
static int parse_number(uint64_t *number, const char *name, const char *value, uint64_t min,
	uint64_t max, uint64_t unit)
{
	uint64_t parsed;

	if (size_parse(value, &parsed))
		return fail(EXIT_USAGE, "pull: --%s: '%s' is not a size", name, value);
	if (parsed < min || parsed > max)
		return fail(EXIT_USAGE, "pull: --%s: %s is not from %llu to %llu", name, value,
			(unsigned long long)min, (unsigned long long)max);
	if (parsed % unit)
		return fail(EXIT_USAGE, "pull: --%s: %s is not a multiple of %llu", name, value,
			(unsigned long long)unit);
	*number = parsed;
	return 0;
}

/* 0, or EXIT_USAGE; -1: the help was asked for */
static int parse_option(struct pull_args *args, int option, const char *value)
{
	uint64_t number = 0;
	int ret;

	switch (option) {
	case 'c':
		ret = parse_number(&number, "chunk", value, CHUNK_UNIT, CHUNK_LIMIT, CHUNK_UNIT);
		args->chunk = (size_t)number;
		return ret;
	case 'n':
		ret = parse_number(&number, "depth", value, 1, DEPTH_LIMIT, 1);
		args->depth = (unsigned)number;
		return ret;
	case 'd':
		return parse_durability(&args->durability, value);
	case 'o':
		return parse_number(&args->offset, "offset", value, 0, INT64_MAX, 1);
	case 'l':
		return parse_number(&args->length, "length", value, 1, INT64_MAX, 1);
	case 'V':
		args->verify = true;
		return 0;
	case 'j':
		args->json = true;
		return 0;
	case 'q':
		args->quiet = true;
		return 0;
	case 'h':
		return -1;
	default:
		return EXIT_USAGE; /* getopt_long() has said why */
	}
}

static int parse(struct pull_args *args, int argc, char *argv[])
{
	int option;

	args->chunk = CHUNK_DEFAULT;
	args->depth = DEPTH_DEFAULT;
	args->durability = RPMA_UV_DURABILITY_GROUP;
	while ((option = getopt_long(argc, argv, "c:n:d:o:l:Vjqh", options, NULL)) != -1) {
		int ret = parse_option(args, option, optarg);
		if (ret)
			return ret;
	}
	if (argc - optind != 2)
		return fail(EXIT_USAGE, "pull: needs HOST:PORT and FILE, has %d arguments",
			argc - optind);
	args->source = argv[optind];
	args->target = argv[optind + 1];

	const char *wrong = address_parse(args->source, &args->address);
	if (!wrong && strcmp(args->address.port, "0") == 0)
		wrong = "nobody is at port 0";
	if (wrong)
		return fail(EXIT_USAGE, "pull: %s: %s", args->source, wrong);
	size_t len = strlen(args->target);
	if (len == 0 || args->target[len - 1] == '/')
		return fail(EXIT_USAGE, "pull: '%s' does not name a file", args->target);
	return 0;
}

/* it will be renamed over: better to find out now than when everything has been fetched */
static int check_target(struct pull *p)
{
	const char *target = p->args.target;
	struct stat st;

	if (lstat(target, &st) != 0)
		return errno == ENOENT ? 0
				       : pull_failed(p, EXIT_STORAGE, "target", -errno, "%s: %s",
						 target, reason(-errno));
	if (!S_ISREG(st.st_mode))
		return pull_failed(p, EXIT_STORAGE, "target", UV_EEXIST,
			"%s exists and is not a regular file", target);
	return 0;
}

static void on_signal(uv_signal_t *handle, int signum)
{
	(void)signum;
	pull_interrupt(handle->data);
}

static void watch_signals(struct pull *p)
{
	static const int numbers[2] = { SIGINT, SIGTERM };

	for (int i = 0; i < 2; i++) {
		/* neither can fail: the loop has its signal pipe, and these may be caught */
		(void)uv_signal_init(&p->loop, &p->signals[i]);
		p->signals[i].data = p;
		(void)uv_signal_start(&p->signals[i], on_signal, numbers[i]);
		uv_unref((uv_handle_t *)&p->signals[i]);
	}
}

static int run_on_loop(struct pull *p)
{
	int ret = uv_loop_init(&p->loop);
	if (ret) {
		(void)pull_failed(p, EXIT_RESOURCES, "loop", ret, "%s", reason(ret));
		return pull_report(p);
	}
	ret = rpma_uv_reactor_init(&p->loop, &p->reactor, NULL);
	if (ret) {
		(void)pull_failed(p, EXIT_RESOURCES, "reactor", ret, "%s", reason(ret));
		ret = pull_report(p);
		goto out_loop;
	}
	watch_signals(p);
	progress_init(&p->progress, &p->loop, p->args.quiet);

	(void)pull_run(p);
	ret = pull_report(p);

	progress_close(&p->progress);
	for (int i = 0; i < 2; i++)
		uv_close((uv_handle_t *)&p->signals[i], NULL);
	rpma_uv_reactor_close(&p->reactor, NULL, NULL);
	(void)uv_run(&p->loop, UV_RUN_DEFAULT);
	/* connections and buffers are gone, so that what they borrowed may go */
	(void)rpma_mr_remote_delete(&p->remote);
	(void)rpma_mr_dereg(&p->room_mr);
	free(p->room);
	(void)rpma_peer_delete(&p->peer);
out_loop:;
	int busy = uv_loop_close(&p->loop);
	assert(busy == 0);
	(void)busy;
	return ret;
}

int pull_main(int argc, char *argv[])
{
	struct pull *p = calloc(1, sizeof(*p));
	if (!p)
		return fail(EXIT_RESOURCES, "pull: %s", reason(UV_ENOMEM));

	int ret = parse(&p->args, argc, argv);
	if (ret < 0) {
		(void)fputs(help, stdout);
		ret = EXIT_DONE;
		goto out;
	}
	if (ret)
		goto out;
	if (check_target(p)) {
		ret = pull_report(p);
		goto out;
	}
	if (asprintf(&p->args.part, "%s.part", p->args.target) < 0) {
		p->args.part = NULL;
		ret = fail(EXIT_RESOURCES, "pull: %s", reason(UV_ENOMEM));
		goto out;
	}
	ret = run_on_loop(p);
out:
	free(p->args.part);
	free(p);
	return ret;
}
