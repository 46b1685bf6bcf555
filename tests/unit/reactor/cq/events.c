/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* events.c - events of the completion channel: taken, acknowledged, and what is left at the end */

#include <unistd.h>

#include "rig.h"

/* the linker sends these calls here */
int __real_ibv_destroy_comp_channel(struct ibv_comp_channel *channel);
int __wrap_ibv_destroy_comp_channel(struct ibv_comp_channel *channel);
void __real_rdma_destroy_event_channel(struct rdma_event_channel *channel);
void __wrap_rdma_destroy_event_channel(struct rdma_event_channel *channel);

static unsigned destroyed;

static void not_of_fd(uv_handle_t *handle, void *arg)
{
	uv_os_fd_t fd;

	if (handle->type != UV_POLL)
		return;
	fd = ((uv_poll_t *)handle)->io_watcher.fd;
	assert_int_not_equal(fd, *(int *)arg);
}

int __wrap_ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	uv_walk(&rig.loop, not_of_fd, &channel->fd);
	destroyed++;
	return __real_ibv_destroy_comp_channel(channel);
}

void __wrap_rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	uv_walk(&rig.loop, not_of_fd, &channel->fd);
	destroyed++;
	__real_rdma_destroy_event_channel(channel);
}

/* the poll handle is closed before the descriptor under it, for both channels */
static void events__handle_before_descriptor(void **state)
{
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	destroyed = 0;
	rig_close();
	assert_int_equal(destroyed, 2);
}

/* events that come after the last look are acknowledged before their queue is destroyed */
static void events__left_at_the_end(void **state)
{
	static struct rig_op read;
	struct rig_conn c;
	struct ibv_cq *cq;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_read(&c, &read, 8);
	rig_settle();
	cq = c.qp->send_cq;
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	RIG_UNTIL(read.done.times > 0);
	rig_conn_gone(&c);
	/* never read by the loop */
	for (unsigned i = 0; i < 3; i++)
		double_spurious_event(cq);
	rig_close(); /* the double notes what is not acknowledged */
	assert_int_equal(double_problems(), 0);
}

/* many events: acknowledged by and by, never more than there were */
static void events__acknowledged_in_batches(void **state)
{
	static struct rig_op read;
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	for (unsigned i = 0; i < 150; i++) {
		rig_read(&c, &read, 8);
		rig_settle();
		double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
		RIG_UNTIL(read.done.times > 0);
	}
	assert_int_equal(rig_stats().cq_events, 150);
	/* and many at once */
	for (unsigned i = 0; i < 200; i++)
		double_spurious_event(c.qp->send_cq);
	rig_settle();
	assert_int_equal(rig_stats().cq_events, 350);
	assert_int_equal(double_problems(), 0);
}

/* an interrupted look goes on */
static void events__interrupted(void **state)
{
	static struct rig_op read;
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_read(&c, &read, 8);
	rig_settle();
	double_fail("ibv_get_cq_event", 1, EINTR);
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	RIG_UNTIL(read.done.times > 0);
	assert_done(read.done, 0);
}

/* the channel itself fails: the connections of that device end, and those only */
static void events__channel_fails(void **state)
{
	struct rpma_peer *peer = NULL;
	struct rig_conn c, other;
	struct rig_done end;
	int pipes[2], fd;

	(void)state;
	/* arrange: one connection on a device of its own */
	assert_int_equal(rpma_peer_new(rig_another_device(), &peer), 0);
	rig_conn_new(&other, NULL);
	assert_int_equal(rpma_uv_conn_new(&rig.reactor, peer, NULL, &c.conn), 0);
	/* its channel's descriptor becomes one that shows an error at once */
	fd = double_last_cq()->channel->fd;
	assert_int_equal(pipe(pipes), 0);
	close(pipes[0]);
	dup2(pipes[1], fd);
	close(pipes[1]);
	rig_watch(rpma_uv_conn_end(c.conn, NULL), &end);

	/* run: with the first turn of the loop */
	rig_settle();

	/* verify */
	assert_done(end, UV_ENODEV);
	assert_int_equal(
		rig_await(rpma_uv_connect(other.conn, NULL, UNIT_ADDR, UNIT_PORT, NULL)), 0);
	rig_close();
	unit_peer_delete(peer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(events__handle_before_descriptor),
		RIG_TEST(events__left_at_the_end),
		RIG_TEST(events__acknowledged_in_batches),
		RIG_TEST(events__interrupted),
		RIG_TEST(events__channel_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
