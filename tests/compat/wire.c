/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* wire.c - what wire_client and wire_server share */

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "wire.h"

#define MAGIC         "wire"
#define DEVICE_UNIT   ((size_t)2 << 20)
#define LIMIT_SECONDS 120

const char *wire_port;
unsigned int wire_conns;
struct wire_seen wire_seen = { .flush_opcode = -1, .atomic_opcode = -1 };

static const char *role;
static int64_t started_ms;

/* what is asked for by MUST() */

_Noreturn void check_fail(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s: %s:%d: not so: %s (errno %d)\n", role, file, line, what, errno);
	exit(EXIT_FAILURE);
}

void check_equal(const char *file, int line, const char *what, long long got, long long expected)
{
	if (got == expected)
		return;
	fprintf(stderr, "%s: %s:%d: %s is %lld, not %lld (errno %d)\n", role, file, line, what, got,
		expected, errno);
	exit(EXIT_FAILURE);
}

void check_note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
}

void wire_init(int argc, char **argv, const char *name)
{
	role = name;
	if (argc != 3 || compat_addr() == NULL) {
		fprintf(stderr, "usage: ADDR=ADDRESS %s PORT CONNECTIONS\n", argv[0]);
		exit(2);
	}
	alarm(LIMIT_SECONDS);
	setvbuf(stdout, NULL, _IOLBF, 0);
	wire_port = argv[1];
	wire_conns = (unsigned int)atoi(argv[2]);
	MUST(wire_conns >= 1 && wire_conns <= WIRE_CONNS_MAX);
	started_ms = now_ms();
}

void wire_open(struct wire_region *region)
{
	const int usage = ENDS_USAGE & ~RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT;
	const char *file = getenv("RPMA_WIRE_FILE");
	const size_t size = (size_t)wire_conns * WIRE_AREA;

	region->peer = compat_peer();
	if (file != NULL) {
		const int fd = open(file, O_RDWR);

		MUST(fd >= 0);
		/* a device (devdax) is mapped in units of this */
		region->memory = mmap(NULL, (size / DEVICE_UNIT + 1) * DEVICE_UNIT,
			PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		MUST(region->memory != MAP_FAILED);
		close(fd);
		memset(region->memory, 0, size);
	} else {
		region->memory = compat_memory(size);
	}
	/* where the device itself takes part in flushes, not all memory is persistent to it */
	if (rpma_mr_reg(region->peer, region->memory, size, ENDS_USAGE, &region->mr) != 0)
		MUST_EQ(rpma_mr_reg(region->peer, region->memory, size, usage, &region->mr), 0);
}

void wire_close(struct wire_region *region)
{
	MUST_EQ(rpma_mr_dereg(&region->mr), 0);
	MUST_EQ(rpma_peer_delete(&region->peer), 0);
}

void wire_greet(struct wire_greeting *greeting, const struct wire_region *region,
	unsigned int index, bool direct_write)
{
	struct rpma_peer_cfg *pcfg = NULL;
	size_t mr_size, pcfg_size;

	MUST_EQ(rpma_peer_cfg_new(&pcfg), 0);
	MUST_EQ(rpma_peer_cfg_set_direct_write_to_pmem(pcfg, direct_write), 0);
	MUST_EQ(rpma_mr_get_descriptor_size(region->mr, &mr_size), 0);
	MUST_EQ(rpma_peer_cfg_get_descriptor_size(pcfg, &pcfg_size), 0);
	MUST(mr_size + pcfg_size <= sizeof(greeting->descriptors));
	memset(greeting, 0, sizeof(*greeting));
	memcpy(greeting->magic, MAGIC, sizeof(greeting->magic));
	greeting->index = (uint8_t)index;
	greeting->mr_size = (uint8_t)mr_size;
	greeting->pcfg_size = (uint8_t)pcfg_size;
	MUST_EQ(rpma_mr_get_descriptor(region->mr, greeting->descriptors), 0);
	MUST_EQ(rpma_peer_cfg_get_descriptor(pcfg, greeting->descriptors + mr_size), 0);
	MUST_EQ(rpma_peer_cfg_delete(&pcfg), 0);
}

unsigned int wire_greeted(
	const struct rpma_conn_private_data *pdata, struct wire_other *other, bool direct_write)
{
	struct wire_greeting greeting;
	bool supported = !direct_write;
	size_t size = 0;
	int flush_type = 0;

	MUST(pdata->ptr != NULL);
	MUST(pdata->len >= sizeof(greeting)); /* devices pad */
	memcpy(&greeting, pdata->ptr, sizeof(greeting));
	MUST(zeroed((uint8_t *)pdata->ptr + sizeof(greeting), pdata->len - sizeof(greeting)));
	MUST(memcmp(greeting.magic, MAGIC, sizeof(greeting.magic)) == 0);
	MUST_EQ(greeting.mr_size, 21);
	MUST_EQ(greeting.pcfg_size, 1);
	MUST_EQ(rpma_mr_remote_from_descriptor(greeting.descriptors, greeting.mr_size, &other->mr),
		0);
	MUST_EQ(rpma_mr_remote_get_size(other->mr, &size), 0);
	MUST_EQ(size, wire_conns * WIRE_AREA);
	MUST_EQ(rpma_mr_remote_get_flush_type(other->mr, &flush_type), 0);
	MUST(flush_type & RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY);
	other->persistent = flush_type & RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT;
	MUST_EQ(rpma_peer_cfg_from_descriptor(
			greeting.descriptors + greeting.mr_size, greeting.pcfg_size, &other->pcfg),
		0);
	MUST_EQ(rpma_peer_cfg_get_direct_write_to_pmem(other->pcfg, &supported), 0);
	MUST_EQ(supported, direct_write);
	return greeting.index;
}

void wire_start(struct wire_conn *c)
{
	MUST_EQ(rpma_conn_get_cq(c->conn, &c->cq), 0);
	MUST_EQ(rpma_conn_get_qp_num(c->conn, &c->qp_num), 0);
}

void wire_end(struct wire_conn *c)
{
	MUST_EQ(rpma_conn_delete(&c->conn), 0);
	MUST_EQ(rpma_mr_remote_delete(&c->other.mr), 0);
	MUST_EQ(rpma_peer_cfg_delete(&c->other.pcfg), 0);
}

/* an opcode that is always the same, whichever it is */
static void see(int *seen, int opcode)
{
	if (*seen == -1)
		*seen = opcode;
	MUST_EQ(opcode, *seen);
}

void wire_flush(struct wire_conn *c, size_t offset, size_t len, bool signalled)
{
	bool direct_write = false;

	MUST_EQ(rpma_peer_cfg_get_direct_write_to_pmem(c->other.pcfg, &direct_write), 0);
	MUST_EQ(rpma_flush(c->conn, c->other.mr, c->area + offset, len,
			c->other.persistent && direct_write ? RPMA_FLUSH_TYPE_PERSISTENT
							    : RPMA_FLUSH_TYPE_VISIBILITY,
			signalled ? RPMA_F_COMPLETION_ALWAYS : RPMA_F_COMPLETION_ON_ERROR,
			CONTEXT(offset + 1)),
		0);
	wire_seen.flushes++;
	if (signalled)
		see(&wire_seen.flush_opcode, wire_done(c, offset + 1).opcode);
}

void wire_atomic_write(struct wire_conn *c, uint64_t word, bool signalled)
{
	MUST_EQ(rpma_atomic_write(c->conn, c->other.mr, c->area + WIRE_WORD, (const char *)&word,
			signalled ? RPMA_F_COMPLETION_ALWAYS : RPMA_F_COMPLETION_ON_ERROR,
			CONTEXT(word)),
		0);
	wire_seen.atomic_writes++;
	if (signalled)
		see(&wire_seen.atomic_opcode, wire_done(c, word).opcode);
}

struct ibv_wc wire_next(struct rpma_cq *cq)
{
	struct ibv_wc wc;
	int ret;

	while ((ret = rpma_cq_get_wc(cq, 1, &wc, NULL)) == RPMA_E_NO_COMPLETION)
		MUST_EQ(rpma_cq_wait(cq), 0);
	MUST_EQ(ret, 0);
	if (wc.status != IBV_WC_SUCCESS)
		check_fail(__FILE__, __LINE__, ibv_wc_status_str(wc.status));
	return wc;
}

struct ibv_wc wire_done(struct wire_conn *c, uint64_t wr_id)
{
	struct ibv_wc wc = wire_next(c->cq);

	MUST_EQ(wc.wr_id, wr_id);
	MUST_EQ(wc.qp_num, c->qp_num);
	return wc;
}

void wire_report(void)
{
	const struct wire_seen *s = &wire_seen;

	printf("%s: %s: %u connections, %u reads and %u writes of %llu and %llu KiB, %u flushes "
	       "(opcode %d), %u atomic writes (opcode %d), %u messages, %lld ms\n",
		role, compat_library(), wire_conns, s->reads, s->writes,
		(unsigned long long)s->bytes_read >> 10, (unsigned long long)s->bytes_written >> 10,
		s->flushes, s->flush_opcode, s->atomic_writes, s->atomic_opcode, s->messages,
		(long long)(now_ms() - started_ms));
}
