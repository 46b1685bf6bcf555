/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * stranger.c - what a stranger may say to `rpma serve`, and what it gets
 *
 * Proven, against the server at ADDR:$PORT: a greeting that is none of ours is turned down at the
 * door, in words; a message that is wrong in any way is answered with a refusal, or the connection
 * ends; and after each of them an honest client is served. hostile.sh runs it.
 *
 *   stranger stays           connects, says nothing, and waits for the end
 *   stranger stays refused   the same after a refusal
 */

#include "control.h"
#include "live.h"

#define MESSAGES 2 /* received: an answer, and room for one too many */

static struct live_node node;
static struct rpma_mr_local *mr;
static uint8_t *memory;
static const char *port;

/* a client that is through the door, or not */
struct visit {
	rpma_uv_conn_t *conn;
	rpma_uv_op_t recv[MESSAGES];
	rpma_uv_future_t *received[MESSAGES];
};

static int visit_begin(struct visit *visit, const struct rpma_conn_private_data *pd)
{
	CHECK_OK(rpma_uv_conn_new(&node.reactor, node.peer, NULL, &visit->conn));
	for (size_t i = 0; i < MESSAGES; i++)
		visit->received[i] = rpma_uv_recv(visit->conn, &visit->recv[i],
			(rpma_uv_local_t){ mr, (i + 1) * CONTROL_MESSAGE_MAX },
			CONTROL_MESSAGE_MAX);
	return rpma_uv_wait(
		rpma_uv_connect(visit->conn, &node.op, live_addr(), port, pd), UINT64_MAX, NULL);
}

static void visit_end(struct visit *visit)
{
	rpma_uv_conn_close(visit->conn, NULL, NULL);
	CHECK_OK(uv_run(&node.loop, UV_RUN_DEFAULT));
}

/*
 * say something, and hear what comes of it: the message, or false when the connection ended instead
 */
static bool visit_say(
	struct visit *visit, const void *bytes, size_t len, struct control_message *answer)
{
	int64_t got;

	if (len > 0)
		memmove(memory, bytes, len);
	(void)rpma_uv_wait(rpma_uv_send(visit->conn, &node.op, (rpma_uv_local_t){ mr, 0 }, len, 0),
		UINT64_MAX, NULL);
	if (rpma_uv_wait(visit->received[0], UINT64_MAX, &got))
		return false;
	CHECK_OK(control_decode(answer, memory + CONTROL_MESSAGE_MAX, (size_t)got));
	return true;
}

static struct rpma_conn_private_data greeting(uint8_t bytes[CONTROL_GREETING_MAX])
{
	const struct control_greeting request = { .kind = CONTROL_REQUEST };

	return (struct rpma_conn_private_data){ bytes,
		(uint8_t)control_greeting_encode(&request, bytes) };
}

static size_t ask(uint8_t bytes[CONTROL_MESSAGE_MAX])
{
	const struct control_message message = { .type = CONTROL_ASK };

	return control_encode(&message, bytes);
}

/* ---- at the door ----------------------------------------------------------------------------- */

static void turned_down(const char *what, const struct rpma_conn_private_data *pd, uint16_t code)
{
	struct rpma_conn_private_data said;
	struct control_greeting reply;
	struct visit visit;

	CHECK_INT(visit_begin(&visit, pd), UV_ECONNREFUSED);
	CHECK_OK(rpma_uv_conn_private_data(visit.conn, &said));
	CHECK_OK(control_greeting_decode(&reply, said.ptr, said.len));
	CHECK_INT(reply.kind, CONTROL_TURNED_DOWN);
	CHECK_INT(reply.refusal.code, code);
	printf("%s: \"%s\"\n", what, reply.refusal.text);
	visit_end(&visit);
}

static void door(void)
{
	uint8_t bytes[CONTROL_GREETING_MAX];
	struct rpma_conn_private_data pd = greeting(bytes);

	turned_down("no greeting", NULL, CONTROL_CODE_FOREIGN);
	bytes[0] ^= 1;
	turned_down("wrong magic", &pd, CONTROL_CODE_FOREIGN);
	bytes[0] ^= 1;
	bytes[8]++;
	turned_down("another version", &pd, CONTROL_CODE_VERSION);
	bytes[8]--;
	bytes[10] = CONTROL_WELCOME;
	turned_down("another kind", &pd, CONTROL_CODE_FOREIGN);
}

/* ---- inside ---------------------------------------------------------------------------------- */

static void honest(void)
{
	uint8_t bytes[CONTROL_MESSAGE_MAX];
	struct rpma_conn_private_data pd = greeting(bytes);
	struct control_message answer;
	struct visit visit;

	CHECK_OK(visit_begin(&visit, &pd));
	CHECK(visit_say(&visit, bytes, ask(bytes), &answer));
	CHECK_INT(answer.type, CONTROL_REGION);
	CHECK_INT(answer.region.length, answer.region.size);
	visit_end(&visit);
}

static void refused(const char *what, const void *message, size_t len)
{
	uint8_t bytes[CONTROL_GREETING_MAX];
	struct rpma_conn_private_data pd = greeting(bytes);
	struct control_message answer;
	struct visit visit;

	CHECK_OK(visit_begin(&visit, &pd));
	if (visit_say(&visit, message, len, &answer)) {
		CHECK_INT(answer.type, CONTROL_REFUSAL);
		printf("%s: \"%s\"\n", what, answer.refusal.text);
	} else {
		printf("%s: the connection ended\n", what);
	}
	visit_end(&visit);
	honest();
}

static void inside(void)
{
	uint8_t bytes[CONTROL_MESSAGE_MAX], wrong[CONTROL_MESSAGE_MAX];
	const struct control_message digest = { .type = CONTROL_DIGEST };
	size_t len = ask(bytes);

	refused("an empty message", bytes, 0);
	refused("one byte", bytes, 1);
	refused("cut off", bytes, len - 1);
	refused("longer than any", memory, CONTROL_MESSAGE_MAX + 1);
	memset(wrong, 0xa5, sizeof(wrong));
	refused("garbage", wrong, sizeof(wrong));
	refused("a digest", wrong, control_encode(&digest, wrong));
	for (size_t at = 0; at < 16; at++) {
		char what[32];

		memcpy(wrong, bytes, len);
		wrong[at] ^= 0x80;
		snprintf(what, sizeof(what), "byte %zu of the head wrong", at);
		refused(what, wrong, len);
	}
	memcpy(wrong, bytes, len);
	memset(wrong + 24, 0xff, 8);
	refused("an offset that overflows", wrong, len);
	memcpy(wrong, bytes, len);
	memset(wrong + len - 2, 0xff, 2);
	refused("a name longer than the message", wrong, len);
}

/* whoever ends it, it is not us */
static void stays(bool is_refused)
{
	uint8_t bytes[CONTROL_MESSAGE_MAX];
	struct rpma_conn_private_data pd = greeting(bytes);
	struct control_message answer;
	struct visit visit;

	CHECK_OK(visit_begin(&visit, &pd));
	if (is_refused) {
		CHECK(visit_say(&visit, bytes, 1, &answer));
		CHECK_INT(answer.type, CONTROL_REFUSAL);
	}
	printf("connected\n");
	fflush(stdout);
	(void)rpma_uv_wait(rpma_uv_conn_end(visit.conn, &node.op), UINT64_MAX, NULL);
	printf("ended\n");
	visit_end(&visit);
}

int main(int argc, char *argv[])
{
	port = getenv("PORT");
	if (port == NULL) {
		printf("no PORT: hostile.sh starts the server\n");
		return LIVE_SKIP;
	}
	live_node_open(&node, live_addr(), RPMA_UTIL_IBV_CONTEXT_REMOTE, NULL);
	memory = live_memory((MESSAGES + 1) * CONTROL_MESSAGE_MAX);
	CHECK_OK(rpma_mr_reg(node.peer, memory, (MESSAGES + 1) * CONTROL_MESSAGE_MAX,
		RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV, &mr));
	if (argc > 1 && strcmp(argv[1], "stays") == 0) {
		stays(argc > 2);
	} else {
		honest();
		door();
		inside();
	}
	CHECK_OK(uv_run(&node.loop, UV_RUN_DEFAULT));
	CHECK_OK(rpma_mr_dereg(&mr));
	live_node_close(&node);
	return 0;
}
