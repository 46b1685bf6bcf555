/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * rig.h - what the tests of the reactor share: a loop, a reactor, a peer, a region
 *
 * Time is the test's. The clock stands still; when the loop goes to sleep with nothing to wake it
 * but a timer, the clock jumps to it. A loop that would sleep for ever fails the test, and so does
 * one that turns too often before what is waited for has come.
 *
 * A test ends with everything closed, the loop too, nothing left over in the double, every event
 * acknowledged, and no more descriptors open than before.
 */

#ifndef RPMA_UV_TEST_RIG_H
#define RPMA_UV_TEST_RIG_H

#include <uv.h>

#include "librpma_uv.h"
#include "unit.h"

#define RIG_MEM_SIZE 65536

/* turns of the loop that anything may take */
#define RIG_TURNS 10000

struct rig {
	uv_loop_t loop;
	uv_async_t anchor; /* keeps the loop alive while it is ref'd */
	rpma_uv_reactor_t reactor;
	struct rpma_peer *peer;
	struct rpma_mr_local *mr;
	struct rpma_mr_remote *remote; /* the same bytes */
	uint8_t mem[RIG_MEM_SIZE];

	bool is_closing;
	bool is_closed;
	unsigned closed_at; /* of rig_count(), as are all "at" */
	int fds; /* open before */

	/* of the loop, since the start of the test */
	unsigned polls; /* looks for events without sleeping */
	unsigned sleeps; /* looks that might have slept */

	int watch_errno; /* of the next descriptor that the loop would watch; 0: none */

	/* a real wait for other threads: events end it, time does not pass */
	bool is_patient;
};

extern struct rig rig;

int rig_setup(void **state);
int rig_teardown(void **state);

#define RIG_TEST(function) cmocka_unit_test_setup_teardown(function, rig_setup, rig_teardown)

/* another reactor in the place of the one that rig_setup() made */
void rig_reactor(const rpma_uv_reactor_opts_t *opts);

/* options for it: no spinning, the rest to be filled in */
rpma_uv_reactor_opts_t rig_opts(void);

/* ---- running ---- */

/* one turn of the loop; false when nothing keeps it alive */
bool rig_turn(void);

/* one turn that does not sleep */
void rig_glance(void);

#define RIG_UNTIL(condition)                                                      \
	do {                                                                      \
		for (unsigned turns_ = 0; !(condition); turns_++) {               \
			assert_true(turns_ < RIG_TURNS);                          \
			if (!rig_turn() && !(condition))                          \
				fail_msg("the loop ended before %s", #condition); \
		}                                                                 \
	} while (0)

/* turns without sleeping until nothing is left to do at once; the loop is kept alive meanwhile */
void rig_settle(void);

/* would the loop sleep now? Something has to keep it alive. */
bool rig_is_asleep(void);

void rig_advance(uint64_t ms); /* the clock */

/* close the reactor, if that has not begun, and run until it is closed and the loop has ended */
void rig_close(void);
void rig_close_begin(void);

rpma_uv_reactor_stats_t rig_stats(void);

/* a number that grows with each callback of the helpers below */
unsigned rig_count(void);

/*
 * another device, one a test: a copy of the double's, with a descriptor of its own for asynchronous
 * events
 */
struct ibv_context *rig_another_device(void);

/* ---- futures ---- */

/* what became of a future; rpma_uv_then() is given its address */
struct rig_done {
	unsigned times;
	int status;
	int64_t result;
	uint32_t detail;
	unsigned at;
};

void rig_on_done(rpma_uv_future_t *f, int status); /* data: struct rig_done */

struct rig_op {
	rpma_uv_op_t op;
	struct rig_done done;
};

/* zeroes done, registers rig_on_done; returns f */
rpma_uv_future_t *rig_watch(rpma_uv_future_t *f, struct rig_done *done);

/* no future of the slab is in use: its room is `objects`, and each of it is there once */
void rig_slab_is(unsigned objects);

/* watches f, runs until it is done, and returns its status */
int rig_await(rpma_uv_future_t *f);

/* ---- connections ---- */

struct rig_conn {
	rpma_uv_conn_t *conn;
	struct rdma_cm_id *id;
	struct ibv_qp *qp;
	unsigned closed; /* times */
	unsigned closed_at;
};

/* sq_size, rq_size and the time-out of a step; 0: the default */
struct rpma_conn_cfg *rig_cfg(uint32_t sq_size, uint32_t rq_size, int timeout_ms);

void rig_conn_new(struct rig_conn *c, const struct rpma_conn_cfg *cfg);

/* READY, active; automatic mode is then: connections and flushes, no data */
void rig_conn_ready(struct rig_conn *c, const struct rpma_conn_cfg *cfg);
void rig_conn_ready_sizes(struct rig_conn *c, uint32_t sq_size, uint32_t rq_size);

/* what the peer declares of itself */
void rig_direct_write(struct rig_conn *c, bool is_declared);

/* an event for the connection's id */
void rig_cm(struct rig_conn *c, enum rdma_cm_event_type type, int status);

void rig_conn_close(struct rig_conn *c); /* and note when it was closed */
void rig_conn_gone(struct rig_conn *c); /* close and run until it is */
void rig_on_conn_closed(void *data); /* data: struct rig_conn */

/* operations on the rig's region, at an offset; the watched storage is the caller's */
void rig_read(struct rig_conn *c, struct rig_op *op, size_t len);
void rig_write(struct rig_conn *c, struct rig_op *op, size_t len);
void rig_send(struct rig_conn *c, struct rig_op *op, size_t len);
void rig_recv(struct rig_conn *c, struct rig_op *op, size_t len);

static inline rpma_uv_local_t rig_local(size_t offset)
{
	return (rpma_uv_local_t){ rig.mr, offset };
}

static inline rpma_uv_remote_t rig_remote(size_t offset)
{
	return (rpma_uv_remote_t){ rig.remote, offset };
}

#define assert_done(done_, status_)                          \
	do {                                                 \
		assert_int_equal((done_).times, 1);          \
		assert_int_equal((done_).status, (status_)); \
	} while (0)

#endif /* RPMA_UV_TEST_RIG_H */
