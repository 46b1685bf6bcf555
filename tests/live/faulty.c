/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * faulty.c - the program rpma, with calls that fail on order, or during which a signal comes
 *
 * RPMA_FAULTY holds orders, separated by semicolons: PLACE[@N]=WHAT. PLACE is the name of a call, or
 * `memory` for all that allocate; with @N it is the Nth call only, or else each. WHAT is an errno
 * that it fails with, such as EIO; NOTHING, for an operation that ends well and has done nothing; or
 * a signal, such as SIGINT, which comes before the call is made as usual. An order that was never
 * met is told on stderr at the end.
 *
 * Linked to the program's own objects with --wrap for each place: the libraries below are untouched.
 */

#include <errno.h>
#include <jansson.h>
#include <openssl/evp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <librpma_uv.h>

#define ORDERS_MAX 4
#define NOTHING    (-1) /* beside the values of errno */

struct order {
	const char *text;
	size_t place_len; /* of text */
	unsigned at; /* 0: each time */
	int error; /* 0: a signal */
	int signal;
	atomic_uint passed;
	atomic_bool met;
};

static struct order orders[ORDERS_MAX];
static size_t order_count;

/* of the one reactor that the program has: makes futures of failed calls */
static rpma_uv_reactor_t *reactor;

static bool is_name(const char *text, size_t len, const char *name)
{
	return name != NULL && strlen(name) == len && strncmp(text, name, len) == 0;
}

static bool find_value(struct order *order, const char *text, size_t len)
{
	if (is_name(text, len, "NOTHING"))
		order->error = NOTHING;
	for (int i = 1; i < 256; i++) {
		if (is_name(text, len, strerrorname_np(i)))
			order->error = i;
	}
	for (int i = 1; i < 32 && len > 3; i++) {
		if (strncmp(text, "SIG", 3) == 0 && is_name(text + 3, len - 3, sigabbrev_np(i)))
			order->signal = i;
	}
	return order->error != 0 || order->signal != 0;
}

static void __attribute__((constructor)) orders_read(void)
{
	const char *text = getenv("RPMA_FAULTY");

	while (text != NULL && *text != '\0') {
		size_t len = strcspn(text, ";"), place_len = strcspn(text, "@=");
		const char *value = memchr(text, '=', len);
		struct order *order = &orders[order_count++];

		if (order_count > ORDERS_MAX || value == NULL ||
			!find_value(order, value + 1, len - (size_t)(value + 1 - text))) {
			(void)fprintf(stderr, "faulty: not an order: %s\n", text);
			_exit(99);
		}
		order->text = text;
		order->place_len = place_len;
		if (text[place_len] == '@')
			order->at = (unsigned)strtoul(text + place_len + 1, NULL, 10);
		text += len + (text[len] == ';');
	}
}

static void __attribute__((destructor)) orders_met(void)
{
	for (size_t i = 0; i < order_count; i++) {
		if (!atomic_load(&orders[i].met))
			(void)fprintf(stderr, "faulty: never met: %s\n", orders[i].text);
	}
	/* who writes down what was executed needs memory, too */
	order_count = 0;
}

/* the errno that this call fails with, NOTHING, or 0 */
static int due(const char *place)
{
	for (size_t i = 0; i < order_count; i++) {
		struct order *order = &orders[i];

		if (!is_name(order->text, order->place_len, place))
			continue;
		unsigned count = atomic_fetch_add(&order->passed, 1) + 1;
		if (order->at != 0 && order->at != count)
			continue;
		atomic_store(&order->met, true);
		if (order->error)
			return order->error;
		(void)raise(order->signal);
	}
	return 0;
}

/* a call of this type, and what it returns when it fails, where `error` is the errno */
#define CALL(place, type, name, params, args, failure) \
	type __real_##name params;                     \
	type __wrap_##name params;                     \
	type __wrap_##name params                      \
	{                                              \
		int error = due(place);                \
		if (error) {                           \
			errno = error;                 \
			return failure;                \
		}                                      \
		return __real_##name args;             \
	}

#define MEMORY(type, name, params, args, failure) CALL("memory", type, name, params, args, failure)
#define ERRNO(type, name, params, args, failure)  CALL(#name, type, name, params, args, failure)

/* an operation, whose future fails */
static rpma_uv_future_t *failed(rpma_uv_op_t *op, int error)
{
	rpma_uv_future_t *f = rpma_uv_promise(reactor, op);

	(void)rpma_uv_resolve(f, error == NOTHING ? 0 : -error, 0);
	return f;
}

#define OPERATION(name, params, args) \
	CALL(#name, rpma_uv_future_t *, name, params, args, failed(op, error))

MEMORY(void *, malloc, (size_t size), (size), NULL)
MEMORY(void *, calloc, (size_t count, size_t size), (count, size), NULL)
MEMORY(void *, aligned_alloc, (size_t align, size_t size), (align, size), NULL)
MEMORY(char *, strdup, (const char *text), (text), NULL)
MEMORY(char *, strndup, (const char *text, size_t len), (text, len), NULL)
MEMORY(EVP_MD_CTX *, EVP_MD_CTX_new, (void), (), NULL)
MEMORY(json_t *, json_string, (const char *text), (text), NULL)
MEMORY(json_t *, json_integer, (json_int_t value), (value), NULL)
MEMORY(char *, json_dumps, (const json_t *json, size_t flags), (json, flags), NULL)
MEMORY(int, json_object_update, (json_t * object, json_t *other), (object, other), -1)
MEMORY(int, json_object_set_new, (json_t * object, const char *key, json_t *value),
	(object, key, value), (json_decref(value), -1))
MEMORY(int, rpma_conn_cfg_new, (struct rpma_conn_cfg * *cfg_ptr), (cfg_ptr), RPMA_E_NOMEM)

int __wrap_asprintf(char **text_ptr, const char *format, ...) __attribute__((format(printf, 2, 3)));
int __wrap_asprintf(char **text_ptr, const char *format, ...)
{
	va_list args;

	if (due("memory"))
		return -1;
	va_start(args, format);
	int len = vasprintf(text_ptr, format, args);
	va_end(args);
	return len;
}

json_t *__wrap_json_pack(const char *format, ...);
json_t *__wrap_json_pack(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	/* in either case it takes over what it is given */
	json_t *value = json_vpack_ex(NULL, 0, format, args);
	va_end(args);
	if (due("memory")) {
		json_decref(value);
		return NULL;
	}
	return value;
}

ERRNO(int, EVP_DigestInit_ex, (EVP_MD_CTX * ctx, const EVP_MD *type, ENGINE *engine),
	(ctx, type, engine), 0)
ERRNO(int, EVP_DigestUpdate, (EVP_MD_CTX * ctx, const void *data, size_t len), (ctx, data, len), 0)
ERRNO(int, EVP_DigestFinal_ex, (EVP_MD_CTX * ctx, unsigned char *digest, unsigned *len),
	(ctx, digest, len), 0)
ERRNO(int, fstat, (int fd, struct stat *st), (fd, st), -1)
ERRNO(int, getrlimit, (__rlimit_resource_t resource, struct rlimit *limit), (resource, limit), -1)
ERRNO(ssize_t, getrandom, (void *buf, size_t len, unsigned flags), (buf, len, flags), -1)
ERRNO(void *, mmap, (void *addr, size_t len, int prot, int flags, int fd, off_t offset),
	(addr, len, prot, flags, fd, offset), MAP_FAILED)
ERRNO(ssize_t, pread, (int fd, void *buf, size_t len, off_t offset), (fd, buf, len, offset), -1)
ERRNO(int, uv_loop_init, (uv_loop_t * loop), (loop), -error)
ERRNO(int, uv_fs_rename,
	(uv_loop_t * loop, uv_fs_t *req, const char *from, const char *to, uv_fs_cb cb),
	(loop, req, from, to, cb), -error)
ERRNO(int, rpma_mr_reg,
	(struct rpma_peer * peer, void *ptr, size_t size, int usage, struct rpma_mr_local **mr_ptr),
	(peer, ptr, size, usage, mr_ptr), error == ENOMEM ? RPMA_E_NOMEM : RPMA_E_PROVIDER)
ERRNO(int, rpma_utils_get_ibv_context,
	(const char *addr, enum rpma_util_ibv_context_type type, struct ibv_context **ctx_ptr),
	(addr, type, ctx_ptr), RPMA_E_PROVIDER)
ERRNO(int, rpma_uv_conn_new,
	(rpma_uv_reactor_t * r, struct rpma_peer *peer, const struct rpma_conn_cfg *cfg,
		rpma_uv_conn_t **conn_ptr),
	(r, peer, cfg, conn_ptr), -error)
ERRNO(int, rpma_uv_transfer_new,
	(rpma_uv_pool_t * pool, const rpma_uv_transfer_opts_t *opts, rpma_uv_transfer_t **t_ptr),
	(pool, opts, t_ptr), -error)

int __real_rpma_uv_reactor_init(
	uv_loop_t *loop, rpma_uv_reactor_t *r, const rpma_uv_reactor_opts_t *opts);
int __wrap_rpma_uv_reactor_init(
	uv_loop_t *loop, rpma_uv_reactor_t *r, const rpma_uv_reactor_opts_t *opts);
int __wrap_rpma_uv_reactor_init(
	uv_loop_t *loop, rpma_uv_reactor_t *r, const rpma_uv_reactor_opts_t *opts)
{
	int error = due("rpma_uv_reactor_init");

	if (error)
		return -error;
	reactor = r;
	return __real_rpma_uv_reactor_init(loop, r, opts);
}

OPERATION(rpma_uv_peer_new,
	(rpma_uv_reactor_t * r, rpma_uv_op_t *op, const char *addr,
		enum rpma_util_ibv_context_type type, struct rpma_peer **peer_ptr),
	(r, op, addr, type, peer_ptr))
OPERATION(rpma_uv_connect,
	(rpma_uv_conn_t * conn, rpma_uv_op_t *op, const char *addr, const char *port,
		const struct rpma_conn_private_data *pd),
	(conn, op, addr, port, pd))
OPERATION(rpma_uv_disconnect, (rpma_uv_conn_t * conn, rpma_uv_op_t *op), (conn, op))
OPERATION(rpma_uv_send,
	(rpma_uv_conn_t * conn, rpma_uv_op_t *op, rpma_uv_local_t src, size_t len, unsigned flags),
	(conn, op, src, len, flags))
OPERATION(rpma_uv_pool_new,
	(rpma_uv_reactor_t * r, rpma_uv_op_t *op, struct rpma_peer *peer,
		const rpma_uv_pool_opts_t *opts, rpma_uv_pool_t **pool_ptr),
	(r, op, peer, opts, pool_ptr))
OPERATION(rpma_uv_file_open,
	(rpma_uv_reactor_t * r, rpma_uv_op_t *op, const char *path, int flags, mode_t mode,
		unsigned file_flags, rpma_uv_file_t **file_ptr),
	(r, op, path, flags, mode, file_flags, file_ptr))
OPERATION(rpma_uv_file_allocate,
	(rpma_uv_file_t * file, rpma_uv_op_t *op, int64_t offset, int64_t len),
	(file, op, offset, len))
OPERATION(rpma_uv_file_read,
	(rpma_uv_file_t * file, rpma_uv_op_t *op, const uv_buf_t bufs[], unsigned count,
		int64_t offset),
	(file, op, bufs, count, offset))
OPERATION(rpma_uv_file_sync, (rpma_uv_file_t * file, rpma_uv_op_t *op), (file, op))
OPERATION(rpma_uv_pull,
	(rpma_uv_transfer_t * t, rpma_uv_op_t *op, rpma_uv_conn_t *conn, rpma_uv_remote_t src,
		uint64_t len, rpma_uv_file_t *file, int64_t offset),
	(t, op, conn, src, len, file, offset))
