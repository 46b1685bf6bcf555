/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * pull.h - one run of rpma pull: what its files share
 *
 *     pull.c         arguments
 *     pull_run.c     the steps, in order
 *     pull_verify.c  one of them: compare digests
 *     pull_report.c  what it prints at the end, for people and for programs
 */

#ifndef RPMA_TOOLS_PULL_H
#define RPMA_TOOLS_PULL_H

#include <stdbool.h>
#include <stdint.h>

#include <librpma_uv.h>

#include "address.h"
#include "control.h"
#include "exits.h"
#include "progress.h"
#include "sha256.h"

/* what each is called on the command line and in the report */
#define PULL_DURABILITY_COUNT (RPMA_UV_DURABILITY_FINAL + 1)
extern const char *const pull_durabilities[PULL_DURABILITY_COUNT];

struct pull_args {
	const char *source; /* as it was typed */
	struct address address;
	const char *target;
	char *part; /* target with ".part" behind it */
	uint64_t offset;
	uint64_t length; /* 0: to the end of the region */
	size_t chunk;
	unsigned depth;
	enum rpma_uv_durability durability;
	bool verify;
	bool json;
	bool quiet;
};

/* what went wrong; code is EXIT_DONE as long as nothing has */
struct pull_failure {
	int code; /* enum exit_code */
	const char *stage;
	bool at_offset;
	uint64_t offset;
	int status;
	char text[256];
};

/* memory for messages, registered */
struct pull_room {
	uint8_t ask[CONTROL_MESSAGE_MAX];
	uint8_t answer[CONTROL_MESSAGE_MAX];
	uint8_t digest[CONTROL_MESSAGE_MAX];
};

struct pull {
	struct pull_args args;
	uv_loop_t loop;
	rpma_uv_reactor_t reactor;
	uv_signal_t signals[2];
	struct progress progress;

	/* waiting: see pull_await() */
	rpma_uv_future_t *current;
	bool interrupted;

	/* what the steps make; NULL until then */
	struct rpma_peer *peer;
	struct pull_room *room;
	struct rpma_mr_local *room_mr;
	rpma_uv_conn_t *conn;
	rpma_uv_op_t answer_op;
	rpma_uv_op_t digest_op; /* a receive of its own, posted when verify is set */
	struct control_region region;
	struct rpma_mr_remote *remote;
	rpma_uv_file_t *file;
	rpma_uv_pool_t *pool;
	rpma_uv_transfer_t *transfer;
	rpma_uv_op_t op; /* of the step that is waited for */
	uv_fs_t fs;

	/* what is reported */
	struct pull_failure failure;
	bool part_exists;
	rpma_uv_transfer_stat_t stat;
	rpma_uv_reactor_stats_t reactor_stats;
	bool fixed; /* buffers were known to the ring */
	uint64_t started_ns, last_read_ns, ended_ns; /* of uv_hrtime(); 0: not yet */
	bool have_file_digest, have_source_digest, verified;
	uint8_t source_sha256[SHA256_BYTES];
	uint8_t file_sha256[SHA256_BYTES];
};

/*
 * Run the loop until f is done, which must be embedded in something that outlives the call: its
 * status. An interrupt cancels what is waited for; then, and whatever the operation made of it, the
 * result is UV_ECANCELED, and nothing but pull_await_firm() may be called any more.
 */
int pull_await(struct pull *p, rpma_uv_future_t *f);

/* the same with a limit: RPMA_UV_PENDING when it ran out, and f goes on */
int pull_await_for(struct pull *p, rpma_uv_future_t *f, uint64_t timeout_ms);

/* the same, for what is not to be interrupted */
int pull_await_firm(struct pull *p, rpma_uv_future_t *f);

/* a signal came: end what is waited for, and all that would follow, unless it is firm */
void pull_interrupt(struct pull *p);

/* take down what went wrong, once; an interrupt takes precedence. Returns code, for returning on. */
int pull_failed(struct pull *p, enum exit_code code, const char *stage, int status,
	const char *format, ...) __attribute__((format(printf, 5, 6)));
/* and where, in bytes from the start of the range */
int pull_failed_at(
	struct pull *p, enum exit_code code, const char *stage, uint64_t offset, int status);

/* all steps: the exit status; p->failure tells the rest */
int pull_run(struct pull *p);

/*
 * The message that has arrived in one of the rooms, which has to be of this type: 0, or the exit
 * status with the failure taken down.
 */
int pull_hear(struct pull *p, const char *stage, const rpma_uv_op_t *op, const void *room,
	enum control_type type, struct control_message *message);

/* the digest of FILE.part against that of the source: 0, or the exit status */
int pull_verify(struct pull *p);

/* what there is to say when everything is over: the exit status, of a failure or of the report */
int pull_report(const struct pull *p);

#endif /* RPMA_TOOLS_PULL_H */
