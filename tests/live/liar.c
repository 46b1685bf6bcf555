/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * liar.c - a server that is not what `rpma pull` takes it for
 *
 *   liar HOW - at ADDR:$PORT, for one client; "listening on" tells that it is there
 *
 * How is a row of the table below: each begins like an honest server and departs from it in one place.
 * Ends when its client has gone.
 */

#include "control.h"
#include "live.h"
#include "sha256.h"
#include "softverbs.h"

#define SIZE ((size_t)64 * 1024)
/* a client looks after a silent server every ten seconds */
#define LATE_MS 11000

static struct live_node node;
static uint8_t *memory; /* the region, and a page of messages behind it */
static struct rpma_mr_local *region_mr, *message_mr;
static rpma_uv_conn_t *conn;
static rpma_uv_op_t ask_op;
static struct control_digest digest;
static uv_timer_t timer;

static uint8_t *room(unsigned i)
{
	return memory + SIZE + (size_t)i * CONTROL_MESSAGE_MAX;
}

static void say(unsigned i, const struct control_message *message)
{
	rpma_uv_release(rpma_uv_send(conn, NULL,
		(rpma_uv_local_t){ message_mr, (size_t)i * CONTROL_MESSAGE_MAX },
		control_encode(message, room(i)), 0));
}

/* ---- after the ask: each gets the honest answer and sends what it likes ---------------------- */

static void say_nothing(struct control_message *message)
{
	(void)message;
}

static void say_and_die(struct control_message *message)
{
	(void)message;
	exit(0);
}

static void say_garbage(struct control_message *message)
{
	(void)control_encode(message, room(1));
	room(1)[0] ^= 1;
	rpma_uv_release(rpma_uv_send(
		conn, NULL, (rpma_uv_local_t){ message_mr, CONTROL_MESSAGE_MAX }, 64, 0));
}

static void say_digest_instead(struct control_message *message)
{
	const struct control_message other = { .type = CONTROL_DIGEST };

	(void)message;
	say(1, &other);
}

static void say_other_offset(struct control_message *message)
{
	message->region.offset = 1;
	message->region.length--;
	say(1, message);
}

static void say_shorter(struct control_message *message)
{
	message->region.length--;
	say(1, message);
}

static void say_no_descriptor(struct control_message *message)
{
	memset(message->region.descriptor, 0xff, message->region.descriptor_len);
	message->region.descriptor_len--;
	say(1, message);
}

static void say_too_much(struct control_message *message)
{
	message->region.size *= 2;
	message->region.length *= 2;
	say(1, message);
}

static void say_digest(struct control_message *message)
{
	const struct control_message told = { .type = CONTROL_DIGEST, .digest = digest };

	(void)message;
	say(2, &told);
}

static void say_region_and_digest(struct control_message *message)
{
	say(1, message);
	say_digest(message);
}

static void say_wrong_digest(struct control_message *message)
{
	digest.sha256[0] ^= 1;
	say_region_and_digest(message);
}

static void say_digest_of_other_offset(struct control_message *message)
{
	digest.offset++;
	say_region_and_digest(message);
}

static void say_digest_of_other_length(struct control_message *message)
{
	digest.length--;
	say_region_and_digest(message);
}

static void say_region_twice(struct control_message *message)
{
	say(1, message);
	say(2, message);
}

static void on_late(uv_timer_t *handle)
{
	(void)handle;
	say_digest(NULL);
}

static void say_digest_late(struct control_message *message)
{
	say(1, message);
	CHECK_OK(uv_timer_start(&timer, on_late, LATE_MS, 0));
}

static void on_vanish(uv_timer_t *handle)
{
	(void)handle;
	CHECK_OK(softverbs_faults("peer:vanish"));
}

/* the client has all the bytes by then, and waits for the digest */
static void say_region_and_vanish(struct control_message *message)
{
	say(1, message);
	CHECK_OK(uv_timer_start(&timer, on_vanish, LATE_MS / 4, 0));
}

static void say_region(struct control_message *message)
{
	say(1, message);
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct how {
	const char *name;
	void (*answer)(struct control_message *region); /* NULL: it does not come to an ask */
	uint16_t kind; /* of the greeting */
	uint16_t version;
	bool reject;
	bool leave; /* the client alone at the door */
} hows[] = {
	{ "honest", say_region_and_digest, CONTROL_WELCOME, CONTROL_VERSION },
	/* at the door */
	{ "leaves-alone", NULL, .leave = true },
	{ "other-kind", NULL, CONTROL_REQUEST, CONTROL_VERSION },
	{ "other-version", NULL, CONTROL_WELCOME, CONTROL_VERSION + 1 },
	{ "rejects", NULL, CONTROL_WELCOME, CONTROL_VERSION, .reject = true },
	{ "rejects-version", NULL, CONTROL_TURNED_DOWN, CONTROL_VERSION + 1, .reject = true },
	{ "turns-down", NULL, CONTROL_TURNED_DOWN, CONTROL_VERSION, .reject = true },
	/* asked */
	{ "dies", say_and_die, CONTROL_WELCOME, CONTROL_VERSION },
	{ "digest-instead", say_digest_instead, CONTROL_WELCOME, CONTROL_VERSION },
	{ "garbage", say_garbage, CONTROL_WELCOME, CONTROL_VERSION },
	{ "no-descriptor", say_no_descriptor, CONTROL_WELCOME, CONTROL_VERSION },
	{ "other-offset", say_other_offset, CONTROL_WELCOME, CONTROL_VERSION },
	{ "shorter", say_shorter, CONTROL_WELCOME, CONTROL_VERSION },
	{ "silent", say_nothing, CONTROL_WELCOME, CONTROL_VERSION },
	{ "too-much", say_too_much, CONTROL_WELCOME, CONTROL_VERSION },
	/* with --verify */
	{ "digest-length", say_digest_of_other_length, CONTROL_WELCOME, CONTROL_VERSION },
	{ "digest-late", say_digest_late, CONTROL_WELCOME, CONTROL_VERSION },
	{ "digest-never", say_region, CONTROL_WELCOME, CONTROL_VERSION },
	{ "digest-offset", say_digest_of_other_offset, CONTROL_WELCOME, CONTROL_VERSION },
	{ "digest-wrong", say_wrong_digest, CONTROL_WELCOME, CONTROL_VERSION },
	{ "region-twice", say_region_twice, CONTROL_WELCOME, CONTROL_VERSION },
	{ "vanishes", say_region_and_vanish, CONTROL_WELCOME, CONTROL_VERSION },
};

static const struct how *how;

/* ---- the server ------------------------------------------------------------------------------ */

static void on_ask(rpma_uv_future_t *f, int status)
{
	struct control_message message = { .type = CONTROL_REGION };
	size_t len;

	(void)f;
	if (status)
		return;
	message.region.size = message.region.length = SIZE;
	CHECK_OK(rpma_mr_get_descriptor_size(region_mr, &len));
	message.region.descriptor_len = (uint16_t)len;
	CHECK_OK(rpma_mr_get_descriptor(region_mr, message.region.descriptor));
	printf("asked\n");
	fflush(stdout);
	how->answer(&message);
}

static void on_end(rpma_uv_future_t *f, int status)
{
	(void)f;
	(void)status;
	rpma_uv_conn_close(conn, NULL, NULL);
}

static void on_request(rpma_uv_ep_t *ep, rpma_uv_conn_req_t *req, void *data)
{
	uint8_t bytes[CONTROL_GREETING_MAX];
	struct control_greeting greeting = { .kind = (enum control_kind)how->kind };
	struct rpma_conn_private_data pd = { bytes, 0 };

	(void)data;
	printf("requested\n");
	fflush(stdout);
	if (how->leave) /* until the client gives up, and somebody ends us */
		return;
	control_refuse(&greeting.refusal, CONTROL_CODE_FULL, "it is not a good day");
	pd.len = (uint8_t)control_greeting_encode(&greeting, bytes);
	bytes[8] = (uint8_t)how->version;
	if (how->reject) {
		rpma_uv_release(rpma_uv_reject(req, NULL, &pd));
	} else {
		CHECK_OK(rpma_uv_conn_new(&node.reactor, node.peer, NULL, &conn));
		(void)rpma_uv_then(rpma_uv_recv(conn, &ask_op, (rpma_uv_local_t){ message_mr, 0 },
					   CONTROL_MESSAGE_MAX),
			on_ask, NULL);
		rpma_uv_release(rpma_uv_accept(req, NULL, conn, &pd));
		(void)rpma_uv_then(rpma_uv_conn_end(conn, NULL), on_end, NULL);
	}
	rpma_uv_ep_close(ep, NULL, NULL);
}

static void digest_compute(void)
{
	struct sha256 *sha = sha256_new();

	CHECK(sha != NULL);
	CHECK_OK(sha256_add(sha, memory, SIZE));
	CHECK_OK(sha256_end(sha, digest.sha256));
	sha256_delete(sha);
	digest.length = SIZE;
}

int main(int argc, char *argv[])
{
	const char *port = getenv("PORT");
	rpma_uv_ep_t *ep;

	for (size_t i = 0; argc == 2 && i < sizeof(hows) / sizeof(hows[0]); i++) {
		if (strcmp(argv[1], hows[i].name) == 0)
			how = &hows[i];
	}
	CHECK(port != NULL && how != NULL);
	live_node_open(&node, live_addr(), RPMA_UTIL_IBV_CONTEXT_LOCAL, NULL);
	memory = live_memory(SIZE + 4096);
	live_pattern(memory, SIZE, 1);
	digest_compute();
	CHECK_OK(rpma_mr_reg(node.peer, memory, SIZE, RPMA_MR_USAGE_READ_SRC, &region_mr));
	CHECK_OK(rpma_mr_reg(node.peer, memory + SIZE, 4096,
		RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV, &message_mr));
	CHECK_OK(uv_timer_init(&node.loop, &timer));
	uv_unref((uv_handle_t *)&timer);
	CHECK_OK(rpma_uv_listen(
		&node.reactor, node.peer, live_addr(), port, 0, on_request, NULL, &ep));
	printf("listening on %s:%s\n", live_addr(), port);
	fflush(stdout);
	CHECK_OK(uv_run(&node.loop, UV_RUN_DEFAULT));
	uv_close((uv_handle_t *)&timer, NULL);
	CHECK_OK(rpma_mr_dereg(&message_mr));
	CHECK_OK(rpma_mr_dereg(&region_mr));
	live_node_close(&node);
	return 0;
}
