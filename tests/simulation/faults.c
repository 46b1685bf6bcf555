/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* faults.c - what the device does wrong in a world, and how often it does what is rare */

#include <string.h>

#include "../softverbs/softverbs.h"
#include "../softverbs/softverbs_seed.h"
#include "world.h"

/*
 * Orders as in softverbs(7): a %u takes the time at which it happens, from 1 to `times`, or
 * milliseconds. Lost events and overruns of completion queues are not among them: nothing recovers.
 */
static const struct fault {
	const char *order;
	unsigned times;
	bool removes; /* the device */
} faults[] = {
	{ "cm:late=ADDR_RESOLVED,%ums", 4000, false },
	{ "cm:late=ROUTE_RESOLVED,%ums", 4000, false },
	{ "cm:late=CONNECT_REQUEST,%ums", 7000, false },
	{ "cm:late=ESTABLISHED,%ums", 7000, false },
	{ "cm:late=DISCONNECTED,%ums", 4000, false },
	{ "cm:late=TIMEWAIT_EXIT,%ums", 4000, false },
	{ "cm:drop@%u=ADDR_RESOLVED", 6, false },
	{ "cm:drop@%u=ROUTE_RESOLVED", 6, false },
	{ "cm:drop@%u=CONNECT_REQUEST", 6, false },
	{ "cm:drop@%u=ESTABLISHED", 10, false },
	{ "cm:drop@%u=REJECTED", 2, false },
	{ "cm:drop@%u+=DISCONNECTED", 4, false },
	{ "cm:drop@%u+=TIMEWAIT_EXIT", 4, false },
	{ "cm:double@%u+=ADDR_RESOLVED", 4, false },
	{ "cm:double@%u+=ROUTE_RESOLVED", 4, false },
	{ "cm:double@%u+=ESTABLISHED", 4, false },
	{ "cm:double@%u+=REJECTED", 2, false },
	{ "cm:double@%u+=DISCONNECTED", 4, false },
	{ "cm:after@%u=ADDR_RESOLVED:ADDR_ERROR", 4, false },
	{ "cm:after@%u=ROUTE_RESOLVED:ROUTE_ERROR", 4, false },
	{ "cm:after@%u=ADDR_RESOLVED:ROUTE_ERROR", 4, false },
	{ "cm:after@%u=ROUTE_RESOLVED:UNREACHABLE", 4, false },
	{ "cm:after@%u=ESTABLISHED:UNREACHABLE", 6, false },
	{ "cm:after@%u=ESTABLISHED:DISCONNECTED", 6, false },
	{ "cm:after@%u=ESTABLISHED:CONNECT_ERROR", 6, false },
	{ "cm:after@%u=DISCONNECTED:TIMEWAIT_EXIT", 6, false },
	{ "resolve:never@%u", 6, false },
	{ "withhold=resolver", 0, false },
	{ "withhold=peer", 0, false },
	{ "cq_event:spurious@%u", 10, false },
	{ "cq_event:double@%u+", 10, false },
	{ "complete:before_arm@%u+", 10, false },
	{ "poll:batch=%u", 3, false },
	{ "get_event:EINTR@%u", 40, false },
	{ "get_event:EAGAIN@%u", 40, false },
	{ "get_cm_event:EAGAIN@%u", 10, false },
	{ "post_send:fail@%u", 60, false },
	{ "post_send:fail@%u=EINVAL", 60, false },
	{ "post_recv:fail@%u", 40, false },
	{ "reg_mr:fail@%u", 3, false },
	{ "create_qp:fail@%u", 6, false },
	{ "create_cq:fail@%u", 2, false },
	{ "wr:RETRY_EXC_ERR@%u", 60, false },
	{ "wr:LOC_PROT_ERR@%u", 60, false },
	{ "wr:GENERAL_ERR@%u", 60, false },
	{ "wr:RNR_RETRY_EXC_ERR@%u", 60, false },
	{ "request:REM_ACCESS_ERR@%u", 60, false },
	{ "request:REM_OP_ERR@%u", 60, false },
	{ "request:REM_INV_REQ_ERR@%u", 60, false },
	{ "request:rnr@%u", 60, false },
	{ "request:rnr@%u+", 60, false },
	{ "payload:changes", 0, false },
	{ "payload:changes", 0, false },
	{ "payload:changes", 0, false },
	{ "peer:die@%u", 60, false },
	{ "peer:die=%ums", 60, false },
	{ "peer:vanish@%u", 60, false },
	{ "peer:vanish=%ums", 60, false },
	{ "device:remove@%u", 60, true },
	{ "device:remove=%ums", 60, true },
	{ "wire:delay=%ums", 20, false },
	{ "wire:rate=%uM", 10, false },
};

void faults_begin(void)
{
	char text[160];

	world.max_msg = below(2) ? (size_t)1 << between(8, 13) : between(300, 6000);
	snprintf(text, sizeof(text), "port:message=%zu", world.max_msg);
	CHECK_OK(softverbs_faults(text));
	world.is_stalling = chance(50);
	/* all of them, since what is not named stays as it was in the world before */
	snprintf(text, sizeof(text),
		"fast_us=%u,slow=%u,slow_us=%u,split=%u,merge=%u,cut=%u,race=%u,spurious=%u,"
		"shuffle=%u,stall=%u,stall_us=%u",
		between(1, 200), below(2) ? 0 : below(300), 1 + below(20000), below(500),
		below(500), below(500), below(300), below(200), below(500), below(30),
		world.is_stalling ? 3000000 : 1 + below(20000));
	CHECK_OK(softverbs_seed_odds(text));
}

void faults_order(void)
{
	unsigned count = chance(450) ? 0 : between(1, 3);
	char text[64];

	while (count-- > 0) {
		const struct fault *fault = &faults[below(sizeof(faults) / sizeof(*faults))];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(text, sizeof(text), fault->order, 1 + below(fault->times));
#pragma GCC diagnostic pop
		CHECK_OK(softverbs_faults(text));
		strcat(strcat(world.faults, text), " ");
		world.has_faults = true;
		world.is_removed = world.is_removed || fault->removes;
		world.may_refuse =
			world.may_refuse || fault->removes || strncmp(text, "post_", 5) == 0;
		world.is_garbled = world.is_garbled || strcmp(text, "payload:changes") == 0;
		cover(fault->order);
	}
}

bool faults_are_covered(void)
{
	bool is_full = true;

	for (unsigned i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		if (coverage_has(faults[i].order))
			continue;
		fprintf(stderr, "never: %s\n", faults[i].order);
		is_full = false;
	}
	return is_full;
}

void faults_end(void)
{
	CHECK_OK(softverbs_faults(NULL));
}
