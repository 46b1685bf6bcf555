/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * kills.c - two processes, one of which is killed at a random moment; again and again
 *
 * The other one has to see the connection end (or never begin), get everything back that it posted,
 * leave nothing behind and exit with 0. SOFTVERBS_KILLS is the number of times, 20 unless it is set;
 * SOFTVERBS_KILLS_SEED repeats the moments, though not what the machine makes of them.
 */

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "end.h"

#define KILLS    20
#define EARLY_US 30000 /* after the start, for every other one */
#define BUSY_US  10000 /* after both are connected, for the rest */
#define TOLD_MS  10000
#define LIMIT_S  20 /* of one end */
#define WHO_DIES 2

/* pipes, and both processes */
struct round {
	int port[2]; /* from the server to the client */
	int told[2]; /* from both to us: the connection stands */
	int news[2]; /* closed by us when one has been killed */
	pid_t ends[WHO_DIES];
};

static unsigned random_state;

static unsigned below(unsigned n)
{
	random_state = random_state * 1103515245u + 12345u;
	return (random_state >> 8) % n;
}

static void server(struct round *r)
{
	struct end end;
	uint16_t port;

	close(r->port[0]);
	end_open(&end, r->told[1]);
	end_listen(&end);
	port = rdma_get_src_port(end.listener);
	(void)!write(r->port[1], &port, sizeof(port)); /* the client may be dead by now */
	end_run(&end, r->news[0]);
	end_close(&end);
}

static void client(struct round *r)
{
	struct end end;
	uint16_t port;

	close(r->port[1]);
	end_open(&end, r->told[1]);
	if (read(r->port[0], &port, sizeof(port)) == sizeof(port)) {
		end_connect(&end, port);
		end_run(&end, r->news[0]);
	}
	end_close(&end);
}

static pid_t start(struct round *r, void (*run)(struct round *r))
{
	pid_t pid = fork();

	MUST(pid >= 0);
	if (pid != 0)
		return pid;
	signal(SIGPIPE, SIG_IGN);
	alarm(LIMIT_S);
	close(r->told[0]);
	close(r->news[1]);
	run(r);
	exit(EXIT_SUCCESS);
}

/* both ends have told that they are connected */
static void wait_until_busy(struct round *r)
{
	char byte;

	for (int i = 0; i < WHO_DIES; i++) {
		MUST(readable(r->told[0], TOLD_MS));
		MUST_EQ(read(r->told[0], &byte, 1), 1);
	}
}

static void pause_us(unsigned us)
{
	struct timespec t = { .tv_nsec = (long)us * 1000 };

	nanosleep(&t, NULL);
}

/* gives the number of ends that had told of a connection, of those not waited for */
static int end_round(struct round *r)
{
	struct pollfd fd = { .fd = r->told[0], .events = POLLIN };
	char bytes[WHO_DIES];
	ssize_t n = 0;

	if (poll(&fd, 1, 0) == 1)
		n = read(r->told[0], bytes, sizeof(bytes));
	close(r->told[0]);
	return n > 0 ? (int)n : 0;
}

/* true: the connection stood */
static bool run_round(int number)
{
	bool late = number % 2 == 1;
	unsigned victim = below(WHO_DIES);
	struct round r;
	bool stood = late;
	int status;

	MUST_EQ(pipe(r.port), 0);
	MUST_EQ(pipe(r.told), 0);
	MUST_EQ(pipe(r.news), 0);
	r.ends[0] = start(&r, server);
	r.ends[1] = start(&r, client);
	close(r.port[0]);
	close(r.port[1]);
	close(r.told[1]);
	close(r.news[0]);
	if (late)
		wait_until_busy(&r);
	pause_us(below(late ? BUSY_US : EARLY_US));
	MUST_EQ(kill(r.ends[victim], SIGKILL), 0);
	close(r.news[1]);
	MUST_EQ(waitpid(r.ends[victim], &status, 0), r.ends[victim]);
	MUST_EQ(waitpid(r.ends[1 - victim], &status, 0), r.ends[1 - victim]);
	if (status != 0)
		printf("kill %d, of the %s: the other end ended with status 0x%x\n", number,
			victim == 0 ? "server" : "client", (unsigned)status);
	MUST_EQ(status, 0);
	return end_round(&r) > 0 || stood;
}

static void kills(void)
{
	const char *text = getenv("SOFTVERBS_KILLS");
	const char *seed = getenv("SOFTVERBS_KILLS_SEED");
	int times = text != NULL ? atoi(text) : KILLS;
	int64_t started = case_now_ms();
	int stood = 0;

	random_state = seed != NULL ? (unsigned)strtoul(seed, NULL, 10) : (unsigned)time(NULL);
	printf("SOFTVERBS_KILLS_SEED=%u\n", random_state);
	fflush(stdout);
	for (int i = 0; i < times; i++)
		stood += run_round(i);
	printf("%d kills, %d of them of a connection that stood, in %lld ms: the other end saw it, "
	       "got "
	       "everything back, left nothing\n",
		times, stood, (long long)(case_now_ms() - started));
}

const struct test_case cases[] = {
	{ "kills", kills, .alone = true },
	{ NULL, NULL },
};
