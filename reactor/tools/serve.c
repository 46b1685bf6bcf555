/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * serve.c - rpma serve: export a file or memory to many clients
 *
 *     set-up, step by step, with nothing else to do --> SERVING --signal--> STOPPING --> end
 *
 *     SERVING    the loop runs: the listener hands requests to the clients (clients.c)
 *     STOPPING   listener and clients close; when both are gone, the signals go and the loop ends.
 *                Further signals change nothing.
 *
 * Set-up and end may wait for disks and pin memory, the loop does not run then; signals keep their
 * default action until there is something to close in order.
 */

#include <assert.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <librpma_uv.h>

#include "address.h"
#include "clients.h"
#include "commands.h"
#include "exits.h"
#include "export.h"
#include "register.h"
#include "size.h"

#define MAX_CLIENTS_DEFAULT 1024
#define MAX_CLIENTS_LIMIT   65536

struct serve_args {
	const char *file; /* NULL: memory */
	uint64_t memory;
	uint64_t pattern;
	const char *listen;
	struct address address;
	unsigned max_clients;
	bool verbose;
};

struct serve {
	struct serve_args args;
	uv_loop_t loop;
	rpma_uv_reactor_t reactor;
	struct rpma_peer *peer;
	struct export export;
	struct rpma_mr_local *mr;
	struct clients clients;
	rpma_uv_ep_t *ep;
	uv_signal_t signals[2];
	bool stopping;
	bool ep_open;
	bool clients_there;
};

static const char help[] =
	"Usage: rpma serve (--file FILE | --memory SIZE) --listen ADDRESS:PORT [OPTION...]\n"
	"Export a file, or memory filled with a pattern, for 'rpma pull'.\n"
	"\n"
	"  -f, --file FILE            a regular file, which has to be writable (and is not "
	"written)\n"
	"  -m, --memory SIZE          that much memory\n"
	"  -p, --pattern SEED         what it is filled with (default: 1)\n"
	"  -l, --listen ADDRESS:PORT  numeric, of an RDMA device; [ADDRESS]:PORT for IPv6;\n"
	"                             port 0: any, which the first line of output tells\n"
	"  -c, --max-clients N        turn down any more (default: 1024)\n"
	"  -v, --verbose              tell about clients on stderr\n"
	"  -h, --help\n"
	"\n"
	"SIZE takes one of the suffixes K, M, G, T, which are powers of 1024.\n"
	"SIGINT or SIGTERM ends it in good order, with status 0.\n"
	"\n" EXIT_HELP;

static const struct option options[] = {
	{ "file", required_argument, NULL, 'f' },
	{ "help", no_argument, NULL, 'h' },
	{ "listen", required_argument, NULL, 'l' },
	{ "max-clients", required_argument, NULL, 'c' },
	{ "memory", required_argument, NULL, 'm' },
	{ "pattern", required_argument, NULL, 'p' },
	{ "verbose", no_argument, NULL, 'v' },
	{ 0 },
};

/* 0, or EXIT_USAGE; -1: the help was asked for */
static int parse_option(struct serve_args *args, int option, const char *value)
{
	uint64_t number;

	switch (option) {
	case 'f':
		args->file = value;
		return 0;
	case 'm':
		if (size_parse(value, &args->memory) || args->memory == 0 ||
			args->memory > SIZE_MAX / 2)
			return fail(EXIT_USAGE, "serve: --memory: '%s' is not a size", value);
		return 0;
	case 'p':
		if (size_parse(value, &args->pattern))
			return fail(EXIT_USAGE, "serve: --pattern: '%s' is not a number", value);
		return 0;
	case 'l':
		args->listen = value;
		return 0;
	case 'c':
		if (size_parse(value, &number) || number == 0 || number > MAX_CLIENTS_LIMIT)
			return fail(EXIT_USAGE, "serve: --max-clients: '%s' is not from 1 to %d",
				value, MAX_CLIENTS_LIMIT);
		args->max_clients = (unsigned)number;
		return 0;
	case 'v':
		args->verbose = true;
		return 0;
	case 'h':
		return -1;
	default:
		return EXIT_USAGE; /* getopt_long() has said why */
	}
}

static int parse(struct serve_args *args, int argc, char *argv[])
{
	int option;

	args->pattern = 1;
	args->max_clients = MAX_CLIENTS_DEFAULT;
	while ((option = getopt_long(argc, argv, "f:m:p:l:c:vh", options, NULL)) != -1) {
		int ret = parse_option(args, option, optarg);
		if (ret)
			return ret;
	}
	if (optind < argc)
		return fail(EXIT_USAGE, "serve: what is '%s'?", argv[optind]);
	if (!args->file == !args->memory)
		return fail(EXIT_USAGE, "serve: needs either --file or --memory");
	if (!args->listen)
		return fail(EXIT_USAGE, "serve: needs --listen ADDRESS:PORT");

	const char *wrong = address_parse(args->listen, &args->address);
	if (!wrong && args->address.region[0])
		wrong = "a region has no place here";
	if (wrong)
		return fail(EXIT_USAGE, "serve: --listen %s: %s", args->listen, wrong);
	return 0;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void end_if_idle(struct serve *s)
{
	if (s->ep_open || s->clients_there)
		return;
	for (int i = 0; i < 2; i++)
		uv_close((uv_handle_t *)&s->signals[i], NULL);
}

static void on_ep_closed(void *data)
{
	struct serve *s = data;

	s->ep_open = false;
	end_if_idle(s);
}

static void on_clients_gone(struct clients *cl)
{
	struct serve *s = (struct serve *)((char *)cl - offsetof(struct serve, clients));

	s->clients_there = false;
	end_if_idle(s);
}

static void on_signal(uv_signal_t *handle, int signum)
{
	(void)signum;
	struct serve *s = handle->data;

	if (s->stopping)
		return;
	s->stopping = true;
	rpma_uv_ep_close(s->ep, on_ep_closed, s);
	clients_close(&s->clients);
}

/* ---- the beginning --------------------------------------------------------------------------- */

static int find_peer(struct serve *s)
{
	rpma_uv_op_t op;
	rpma_uv_future_t *f = rpma_uv_peer_new(
		&s->reactor, &op, s->args.address.host, RPMA_UTIL_IBV_CONTEXT_LOCAL, &s->peer);
	int ret = rpma_uv_wait(f, UINT64_MAX, NULL);

	if (ret == UV_ENODEV || ret == UV_EADDRNOTAVAIL || ret == UV_EINVAL)
		return fail(EXIT_CONNECT, "serve: no RDMA device has the address %s",
			s->args.address.host);
	if (ret)
		return fail(ret == UV_ENOMEM ? EXIT_RESOURCES : EXIT_CONNECT, "serve: %s: %s",
			s->args.address.host, reason(ret));
	return 0;
}

static int register_export(struct serve *s)
{
	int ret = register_memory(
		s->peer, s->export.base, s->export.size, RPMA_MR_USAGE_READ_SRC, "", &s->mr);
	if (ret)
		return ret;

	size_t len;
	(void)rpma_mr_get_descriptor_size(s->mr, &len);
	assert(len <= CONTROL_DESCRIPTOR_MAX);
	s->clients.descriptor_len = (uint16_t)len;
	(void)rpma_mr_get_descriptor(s->mr, s->clients.descriptor);
	return 0;
}

static const char *device_name(const struct serve *s)
{
	struct ibv_context *ctx;

	if (rpma_utils_get_ibv_context(s->args.address.host, RPMA_UTIL_IBV_CONTEXT_LOCAL, &ctx))
		return "unknown";
	return ctx->device->name;
}

/* listen, and tell the world; from here on signals stop it in order */
static int open_door(struct serve *s)
{
	static const int numbers[2] = { SIGINT, SIGTERM };
	char text[ADDRESS_TEXT];
	int ret = rpma_uv_listen(&s->reactor, s->peer, s->args.address.host, s->args.address.port,
		0, clients_request, &s->clients, &s->ep);
	if (ret)
		return fail(EXIT_CONNECT, "serve: cannot listen on %s: %s%s", s->args.listen,
			reason(ret), ret == UV_EINVAL ? " (the address has to be numeric)" : "");
	s->ep_open = true;
	s->clients_there = true;

	for (int i = 0; i < 2; i++) {
		ret = uv_signal_init(&s->loop, &s->signals[i]);
		assert(ret == 0); /* the loop's signal pipe is there since uv_loop_init() */
		s->signals[i].data = s;
		ret = uv_signal_start(&s->signals[i], on_signal, numbers[i]);
		assert(ret == 0); /* fails on SIGKILL and its like only */
	}
	(void)printf("listening on %s, %llu bytes, device %s\n",
		address_format(s->args.address.host, rpma_uv_ep_port(s->ep), text),
		(unsigned long long)s->export.size, device_name(s));
	(void)fflush(stdout);
	return 0;
}

static int run(struct serve *s)
{
	int ret = find_peer(s);
	if (ret)
		return ret;
	ret = register_export(s);
	if (ret)
		goto out_peer;

	s->clients.reactor = &s->reactor;
	s->clients.peer = s->peer;
	s->clients.export = &s->export;
	s->clients.max = s->args.max_clients;
	s->clients.verbose = s->args.verbose;
	s->clients.gone = on_clients_gone;
	ret = clients_init(&s->clients);
	if (ret)
		goto out_mr;

	ret = open_door(s);
	if (!ret)
		(void)uv_run(&s->loop, UV_RUN_DEFAULT);
	clients_fini(&s->clients);
out_mr:
	(void)rpma_mr_dereg(&s->mr);
out_peer:
	(void)rpma_peer_delete(&s->peer);
	return ret;
}

int serve_main(int argc, char *argv[])
{
	struct serve s = { 0 };
	int ret = parse(&s.args, argc, argv);
	if (ret > 0)
		return ret;
	if (ret < 0) {
		(void)fputs(help, stdout);
		return EXIT_DONE;
	}

	ret = s.args.file ? export_file(&s.export, s.args.file)
			  : export_memory(&s.export, s.args.memory, s.args.pattern);
	if (ret)
		return ret;
	ret = uv_loop_init(&s.loop);
	if (ret) {
		ret = fail(EXIT_RESOURCES, "serve: %s", reason(ret));
		goto out_export;
	}
	ret = rpma_uv_reactor_init(&s.loop, &s.reactor, NULL);
	if (ret) {
		ret = fail(EXIT_RESOURCES, "serve: %s", reason(ret));
		goto out_loop;
	}
	ret = run(&s);
	rpma_uv_reactor_close(&s.reactor, NULL, NULL);
	(void)uv_run(&s.loop, UV_RUN_DEFAULT);
out_loop:;
	int busy = uv_loop_close(&s.loop);
	assert(busy == 0);
	(void)busy;
out_export:
	export_close(&s.export);
	return ret;
}
