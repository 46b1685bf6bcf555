/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* utils.c - the library itself, devices, texts, threads */

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ends.h"

static void loaded(void)
{
	check_note("%s: %s", compat_on_ours() ? "ours" : "another", compat_library());
}

const struct check library_checks[] = { { "the file it was loaded from", NULL, loaded }, { NULL } };

/* ---- devices --------------------------------------------------------------------------------- */

static void context_local(void)
{
	struct ibv_device_attr attr;
	struct ibv_context *verbs = compat_verbs();

	/* nothing holds it but the connection manager */
	MUST_EQ(ibv_query_device(verbs, &attr), 0);
	MUST(attr.max_qp > 0);
	MUST(compat_verbs() == verbs);
}

static void context_remote(void)
{
	struct ibv_context *verbs = NULL;

	MUST_EQ(rpma_utils_get_ibv_context(compat_addr(), RPMA_UTIL_IBV_CONTEXT_REMOTE, &verbs), 0);
	MUST(verbs == compat_verbs());
}

static void context_invalid(void)
{
	struct ibv_context *verbs = UNTOUCHED;

	MUST_EQ(rpma_utils_get_ibv_context(NULL, RPMA_UTIL_IBV_CONTEXT_LOCAL, &verbs),
		RPMA_E_INVAL);
	MUST_EQ(rpma_utils_get_ibv_context(compat_addr(), RPMA_UTIL_IBV_CONTEXT_LOCAL, NULL),
		RPMA_E_INVAL);
	MUST_EQ(rpma_utils_get_ibv_context(
			compat_addr(), (enum rpma_util_ibv_context_type)2, &verbs),
		RPMA_E_INVAL);
	MUST(verbs == UNTOUCHED);
}

static void context_elsewhere(void)
{
	struct ibv_context *verbs = UNTOUCHED;

	/* of a block that is for documentation: no machine has it */
	MUST_EQ(rpma_utils_get_ibv_context("203.0.113.1", RPMA_UTIL_IBV_CONTEXT_LOCAL, &verbs),
		RPMA_E_PROVIDER);
	MUST(verbs == UNTOUCHED);
}

static void context_wildcard(void)
{
	struct ibv_context *verbs = UNTOUCHED;
	const int ret = rpma_utils_get_ibv_context("0.0.0.0", RPMA_UTIL_IBV_CONTEXT_LOCAL, &verbs);

	IMPROVED(27, ret == RPMA_E_PROVIDER && verbs == UNTOUCHED, ret == 0 && verbs == NULL);
}

static void odp(void)
{
	struct ibv_device_attr_ex attr;
	struct ibv_context *verbs = compat_verbs();
	const uint32_t needed = IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_WRITE;
	int capable = -1;

	MUST_EQ(ibv_query_device_ex(verbs, NULL, &attr), 0);
	const bool expected = (attr.odp_caps.general_caps & IBV_ODP_SUPPORT) &&
			      (attr.odp_caps.per_transport_caps.rc_odp_caps & needed) == needed;
	MUST_EQ(rpma_utils_ibv_context_is_odp_capable(verbs, &capable), 0);
	MUST_EQ(capable, expected);
}

static void odp_invalid(void)
{
	int capable = 42;

	MUST_EQ(rpma_utils_ibv_context_is_odp_capable(NULL, &capable), RPMA_E_INVAL);
	MUST_EQ(rpma_utils_ibv_context_is_odp_capable(compat_verbs(), NULL), RPMA_E_INVAL);
	MUST_EQ(capable, 42);
}

const struct check utils_checks[] = {
	{ "a local address has a context, which stays valid", NULL, context_local },
	{ "a remote address leads to the same one", NULL, context_remote },
	{ "NULL and a type that does not exist are invalid", NULL, context_invalid },
	{ "an address of nobody here is the provider's error, the output untouched", NULL,
		context_elsewhere },
	{ "a wildcard belongs to no device", NULL, context_wildcard, .differs = true },
	{ "ODP is what the device says of reads and writes", NULL, odp },
	{ "the query of ODP refuses NULL", NULL, odp_invalid },
	{ NULL },
};

/* ---- texts ----------------------------------------------------------------------------------- */

static void event_texts(void)
{
	static const char *const texts[] = { "Connection established", "Connection closed",
		"Connection lost", "Connection rejected", "Connection unreachable" };

	MUST_STR(rpma_utils_conn_event_2str(RPMA_CONN_UNDEFINED), "Undefined connection event");
	for (int event = RPMA_CONN_ESTABLISHED; event <= RPMA_CONN_UNREACHABLE; event++)
		MUST_STR(rpma_utils_conn_event_2str((enum rpma_conn_event)event), texts[event]);
}

static void event_unknown(void)
{
	static const int unknown[] = { -2, 5, 1000 };

	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		MUST_STR(rpma_utils_conn_event_2str((enum rpma_conn_event)unknown[i]),
			"Unsupported connection event");
}

static void error_texts(void)
{
	static const struct {
		int code;
		const char *text;
	} errors[] = {
		{ 0, "Success" },
		{ RPMA_E_NOSUPP, "Not supported" },
		{ RPMA_E_PROVIDER, "Provider error occurred" },
		{ RPMA_E_NOMEM, "Out of memory" },
		{ RPMA_E_INVAL, "Invalid argument" },
		{ RPMA_E_NO_COMPLETION, "No next completion available" },
		{ RPMA_E_NO_EVENT, "No next event available" },
		{ RPMA_E_AGAIN, "Temporary error, try again" },
		{ RPMA_E_SHARED_CHANNEL, "Completion channel is shared" },
		{ RPMA_E_NOT_SHARED_CHNL, "Completion channel is not shared" },
	};

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		MUST_STR(rpma_err_2str(errors[i].code), errors[i].text);
}

static void error_unknown(void)
{
	static const int unknown[] = { RPMA_E_UNKNOWN, -1, 1, RPMA_E_NOT_SHARED_CHNL - 1 };

	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		MUST_STR(rpma_err_2str(unknown[i]), "Unknown error");
}

const struct check text_checks[] = {
	{ "each event has its text", NULL, event_texts },
	{ "so have all other values", NULL, event_unknown },
	{ "each error has its text", NULL, error_texts },
	{ "so have all other numbers", NULL, error_unknown },
	{ NULL },
};

/* ---- threads --------------------------------------------------------------------------------- */

#define THREADS 8
#define ROUNDS  8

/* what a job of a multi-threaded program does to set itself up, and to end */
static void *set_up(void *arg)
{
	struct rpma_peer *peer = compat_peer();

	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		struct rpma_conn_req *req = NULL;
		struct rpma_mr_local *mr = NULL;
		struct rpma_srq *srq = NULL;
		void *memory = aligned_alloc(4096, 4096);

		MUST(memory != NULL);
		MUST_EQ(rpma_mr_reg(peer, memory, 4096, ENDS_USAGE, &mr), 0);
		MUST_EQ(rpma_srq_new(peer, NULL, &srq), 0);
		MUST_EQ(rpma_conn_req_new(peer, compat_addr(), ENDS_PORT, NULL, &req), 0);
		MUST_EQ(rpma_conn_req_delete(&req), 0);
		MUST_EQ(rpma_srq_delete(&srq), 0);
		MUST_EQ(rpma_mr_dereg(&mr), 0);
		free(memory);
	}
	MUST_EQ(rpma_peer_delete(&peer), 0);
	return NULL;
}

static void many_set_up(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		MUST_EQ(pthread_create(&threads[i], NULL, set_up, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		MUST_EQ(pthread_join(threads[i], NULL), 0);
}

static void *change(void *arg)
{
	struct rpma_conn_cfg *cfg = arg;
	uint32_t size;

	for (uint32_t i = 0; i < 10000; i++) {
		MUST_EQ(rpma_conn_cfg_set_sq_size(cfg, 1000 + i % 2), 0);
		MUST_EQ(rpma_conn_cfg_get_sq_size(cfg, &size), 0);
		MUST(size == 1000 || size == 1001);
	}
	return NULL;
}

static void shared_cfg(void)
{
	struct rpma_conn_cfg *cfg = CFG(.sq_size = 1000);
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		MUST_EQ(pthread_create(&threads[i], NULL, change, cfg), 0);
	for (int i = 0; i < 2; i++)
		MUST_EQ(pthread_join(threads[i], NULL), 0);
	MUST_EQ(rpma_conn_cfg_delete(&cfg), 0);
}

const struct check thread_checks[] = {
	{ "eight threads make and delete objects at once", NULL, many_set_up },
	{ "two threads change one configuration", NULL, shared_cfg },
	{ NULL },
};
