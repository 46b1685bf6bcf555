/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * process.c - two ends in two processes, and what one sees of the other's end
 *
 * The peer is forked before either process has touched the device. It listens, writes its port to
 * the pipe, and accepts; what the client needs to know of its memory comes as private data.
 */

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pair.h"

struct memory {
	uint64_t address;
	uint32_t rkey;
};

struct peer {
	pid_t pid;
	int to_client[2];
	int to_peer[2];
	struct memory memory; /* the peer's */
};

static void say(int fd, const void *what, size_t size)
{
	MUST_EQ(write(fd, what, size), (ssize_t)size);
}

static void hear(int fd, void *what, size_t size)
{
	MUST(readable(fd, WAIT_MS));
	MUST_EQ(read(fd, what, size), (ssize_t)size);
}

/* a process whose check has failed is not left behind */
static void die_with_parent(void)
{
	MUST_EQ(prctl(PR_SET_PDEATHSIG, SIGKILL), 0);
	alarm(2 * WAIT_MS / 1000);
}

/* the peer until its connection is established: a server with receives */
static void peer_connect(struct peer *peer, struct pair *p)
{
	char word;

	pair_listen(p, &(struct pair_options){ 0 });
	uint16_t port = rdma_get_src_port(p->listener);
	say(peer->to_client[1], &port, sizeof(port));
	struct rdma_cm_event *event = cm_take(p->s.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	p->s.id = event->id;
	MUST_EQ(rdma_ack_cm_event(event), 0);
	side_open(&p->s, &p->o, true);
	for (uint64_t i = 0; i < 4; i++)
		RECV(&p->s, i, 4096 * i, 4096);
	fill(p->s.buf + 65536, 4096, 1);
	struct memory memory = { (uintptr_t)p->s.buf, p->s.mr->rkey };
	struct rdma_conn_param param = pair_param(p);
	param.private_data = &memory;
	param.private_data_len = sizeof(memory);
	MUST_EQ(rdma_accept(p->s.id, &param), 0);
	MUST_EQ(cm_expect(p->s.channel, RDMA_CM_EVENT_ESTABLISHED), 0);
	say(peer->to_client[1], "e", 1);
	hear(peer->to_peer[0], &word, 1);
}

/* the peer runs what is given once it is connected and the client has said a word */
static void peer_start(struct peer *peer, void (*run)(struct peer *peer, struct pair *p))
{
	MUST_EQ(pipe(peer->to_client), 0);
	MUST_EQ(pipe(peer->to_peer), 0);
	peer->pid = fork();
	MUST(peer->pid >= 0);
	if (peer->pid == 0) {
		struct pair p;

		die_with_parent();
		close(peer->to_client[0]);
		close(peer->to_peer[1]);
		peer_connect(peer, &p);
		run(peer, &p);
		_exit(EXIT_SUCCESS);
	}
	close(peer->to_client[1]);
	close(peer->to_peer[0]);
}

/* the client: connected to the peer, with a short time for acknowledgements */
static void client_connect(struct peer *peer, struct pair *p)
{
	uint16_t port;
	char word;

	hear(peer->to_client[0], &port, sizeof(port));
	pair_listen(p, &(struct pair_options){ .retry_count = 2, .ack_timeout = 15 });
	p->c.id = id_resolved(p->c.channel, port);
	side_open(&p->c, &p->o, false);
	for (uint64_t i = 0; i < 4; i++)
		RECV(&p->c, i, 4096 * i, 4096);
	struct rdma_conn_param param = pair_param(p);
	MUST_EQ(rdma_connect(p->c.id, &param), 0);
	struct rdma_cm_event *event = cm_take(p->c.channel, RDMA_CM_EVENT_ESTABLISHED);
	memcpy(&peer->memory, event->param.conn.private_data, sizeof(peer->memory));
	MUST_EQ(rdma_ack_cm_event(event), 0);
	hear(peer->to_client[0], &word, 1);
}

static void peer_go(struct peer *peer)
{
	say(peer->to_peer[1], "g", 1);
}

static void peer_end(struct peer *peer)
{
	int status = -1;

	MUST(waitpid(peer->pid, &status, 0) == peer->pid);
	MUST(WIFEXITED(status));
	MUST_EQ(WEXITSTATUS(status), EXIT_SUCCESS);
}

static void peer_kill(struct peer *peer)
{
	MUST_EQ(kill(peer->pid, SIGKILL), 0);
	MUST(waitpid(peer->pid, NULL, 0) == peer->pid);
}

/* what peers do */

static void echo(struct peer *peer, struct pair *p)
{
	(void)peer;
	struct ibv_wc wc = wc_expect(p->s.rcq, 0, IBV_WC_SUCCESS);
	POST(&p->s, .opcode = IBV_WR_SEND, .id = 9, .len = wc.byte_len);
	wc_expect(p->s.scq, 9, IBV_WC_SUCCESS);
	MUST_EQ(cm_expect(p->s.channel, RDMA_CM_EVENT_DISCONNECTED), 0);
	MUST_EQ(rdma_disconnect(p->s.id), 0);
	side_close(&p->s);
	MUST_EQ(rdma_destroy_id(p->listener), 0);
}

static void sleep_on(struct peer *peer, struct pair *p)
{
	(void)peer;
	(void)p;
	for (;;)
		pause();
}

static void leave_at_once(struct peer *peer, struct pair *p)
{
	(void)peer;
	(void)p;
}

static void await_end(struct peer *peer, struct pair *p)
{
	say(peer->to_client[1], "r", 1);
	MUST_EQ(cm_expect(p->s.channel, RDMA_CM_EVENT_DISCONNECTED), 0);
	MUST_EQ(rdma_disconnect(p->s.id), 0);
	for (uint64_t i = 0; i < 4; i++)
		wc_expect(p->s.rcq, i, IBV_WC_WR_FLUSH_ERR);
	say(peer->to_client[1], "d", 1);
}

/* checks */

static void messages(void)
{
	struct peer peer;
	struct pair p;

	peer_start(&peer, echo);
	client_connect(&peer, &p);
	peer_go(&peer);
	fill(p.c.buf + 100000, 3000, 5);
	POST(&p.c, .opcode = IBV_WR_SEND, .id = 1, .at = 100000, .len = 3000);
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	MUST_EQ(wc_expect(p.c.rcq, 0, IBV_WC_SUCCESS).byte_len, 3000);
	MUST(filled(p.c.buf, 3000, 5));
	MUST_EQ(rdma_disconnect(p.c.id), 0);
	MUST_EQ(cm_expect(p.c.channel, RDMA_CM_EVENT_DISCONNECTED), 0);
	peer_end(&peer);
}

static void read_from_sleeper(void)
{
	struct peer peer;
	struct pair p;

	peer_start(&peer, sleep_on);
	client_connect(&peer, &p);
	peer_go(&peer);
	POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = 1, .len = 4096,
		.remote = peer.memory.address + 65536, .rkey = peer.memory.rkey);
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	MUST(filled(p.c.buf, 4096, 1));
	peer_kill(&peer);
}

/* the peer is gone: the client hears of it, and its receives come back once it has disconnected */
static void client_sees_end(struct pair *p)
{
	MUST_EQ(cm_expect(p->c.channel, RDMA_CM_EVENT_DISCONNECTED), 0);
	rdma_disconnect(p->c.id);
	for (uint64_t i = 0; i < 4; i++)
		wc_expect(p->c.rcq, i, IBV_WC_WR_FLUSH_ERR);
	pair_close(p);
}

static void peer_killed(void)
{
	struct peer peer;
	struct pair p;

	peer_start(&peer, sleep_on);
	client_connect(&peer, &p);
	peer_kill(&peer);
	client_sees_end(&p);
}

static void peer_exits(void)
{
	struct peer peer;
	struct pair p;

	peer_start(&peer, leave_at_once);
	client_connect(&peer, &p);
	peer_go(&peer);
	client_sees_end(&p);
	peer_end(&peer);
}

static void killed_with_work(void)
{
	enum { N = 12 };
	bool failed = false;
	struct peer peer;
	struct pair p;

	peer_start(&peer, sleep_on);
	client_connect(&peer, &p);
	for (uint64_t i = 0; i < N; i++)
		POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = i, .at = 65536, .len = 65536,
			.remote = peer.memory.address, .rkey = peer.memory.rkey);
	peer_kill(&peer);
	for (uint64_t i = 0; i < N; i++) {
		struct ibv_wc wc = wc_take(p.c.scq);

		MUST_EQ(wc.wr_id, i);
		MUST(!failed || wc.status == IBV_WC_WR_FLUSH_ERR);
		MUST(wc.status == IBV_WC_SUCCESS || wc.status == IBV_WC_WR_FLUSH_ERR ||
			wc.status == IBV_WC_RETRY_EXC_ERR || wc.status == IBV_WC_REM_ACCESS_ERR);
		failed = wc.status != IBV_WC_SUCCESS;
	}
	client_sees_end(&p);
}

static void posted_after_death(void)
{
	struct peer peer;
	struct pair p;

	peer_start(&peer, sleep_on);
	client_connect(&peer, &p);
	peer_kill(&peer);
	POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = 1, .at = 65536, .len = 8,
		.remote = peer.memory.address, .rkey = peer.memory.rkey);
	struct ibv_wc wc = wc_take(p.c.scq);
	MUST_EQ(wc.wr_id, 1);
	MUST(wc.status == IBV_WC_RETRY_EXC_ERR || wc.status == IBV_WC_WR_FLUSH_ERR);
	client_sees_end(&p);
}

static void killed_while_connecting(void)
{
	struct peer peer;
	uint16_t port;
	struct pair p;

	peer_start(&peer, sleep_on);
	hear(peer.to_client[0], &port, sizeof(port));
	peer_kill(&peer);
	pair_listen(&p, &(struct pair_options){ 0 });
	p.c.id = id_resolved(p.c.channel, port);
	side_open(&p.c, &p.o, false);
	struct rdma_conn_param param = pair_param(&p);
	MUST_EQ(rdma_connect(p.c.id, &param), 0);
	MUST(cm_expect(p.c.channel, RDMA_CM_EVENT_REJECTED) > 0);
	pair_close(&p);
}

/* the client is a process of its own; this one is told what the peer has seen */
static void client_killed(void)
{
	struct peer peer;
	int connected[2];
	char word;

	peer_start(&peer, await_end);
	MUST_EQ(pipe(connected), 0);
	pid_t client = fork();
	MUST(client >= 0);
	if (client == 0) {
		struct pair p;

		die_with_parent();
		client_connect(&peer, &p);
		say(connected[1], "c", 1);
		for (;;)
			pause();
	}
	hear(connected[0], &word, 1);
	peer_go(&peer);
	hear(peer.to_client[0], &word, 1);
	MUST_EQ(word, 'r');
	MUST_EQ(kill(client, SIGKILL), 0);
	MUST(waitpid(client, NULL, 0) == client);
	hear(peer.to_client[0], &word, 1);
	MUST_EQ(word, 'd');
	peer_end(&peer);
}

static void fork_afterwards(void)
{
	struct peer peer;
	struct pair p;

	MUST_EQ(ibv_fork_init(), 0);
	peer_start(&peer, sleep_on);
	client_connect(&peer, &p);
	pid_t child = fork();
	MUST(child >= 0);
	if (child == 0)
		_exit(EXIT_SUCCESS);
	MUST(waitpid(child, NULL, 0) == child);
	MUST(!readable(p.c.channel->fd, QUIET_MS));
	POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = 1, .at = 65536, .len = 4096,
		.remote = peer.memory.address + 65536, .rkey = peer.memory.rkey);
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	MUST(filled(p.c.buf + 65536, 4096, 1));
	peer_kill(&peer);
	client_sees_end(&p);
}

const struct check process_checks[] = { { "two processes exchange messages", "ibv_post_send(3)",
						messages },
	{ "READ needs no help of the program it reads from", "ibv_post_send(3)",
		read_from_sleeper },
	{ "when the peer is killed, the other side hears DISCONNECTED", "rdma_get_cm_event(3)",
		peer_killed },
	{ "when the peer exits without a word, it does so too", "rdma_get_cm_event(3)",
		peer_exits },
	{ "requests to a killed peer each complete once, the last ones in error", "ibv_poll_cq(3)",
		killed_with_work },
	{ "a request posted after the peer's death fails", "ibv_poll_cq(3)", posted_after_death },
	{ "a port whose listener was killed is not listened to", "rdma_connect(3)",
		killed_while_connecting },
	{ "a killed client is disconnected, and the server's receives come back",
		"rdma_get_cm_event(3)", client_killed },
	{ "a child that touches nothing does not disturb its parent's connection",
		"ibv_fork_init(3)", fork_afterwards },
	{ 0 } };
