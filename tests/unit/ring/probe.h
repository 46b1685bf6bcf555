/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* probe.h - requests that note what becomes of them */

#ifndef RPMA_TEST_PROBE_H
#define RPMA_TEST_PROBE_H

#include "turn.h"

struct probe {
	struct rpma_uv__io io;
	unsigned done; /* calls of done() */
	int res;
	unsigned order; /* among all, from 1 */
};

static unsigned probes_done;

static inline void probe_done(struct rpma_uv__io *io, int res)
{
	struct probe *probe = rpma_uv__container_of(io, struct probe, io);

	probe->done++;
	probe->res = res;
	probe->order = ++probes_done;
}

/* the cheapest request there is: its descriptor is not open, so it ends -EBADF while submitted */
static inline void probe_null(struct turn *turn, struct probe *probe)
{
	*probe = (struct probe){
		.io = { .done = probe_done, .code = RPMA_UV__IO_CLOSE, .fd = -1, .buf_index = -1 },
	};
	rpma_uv__ring_queue(turn->r, &probe->io);
}

/* a read of 8 bytes at the descriptor's own position, as an eventfd or a pipe has one */
static inline void probe_read(struct turn *turn, struct probe *probe, int fd, uint64_t *value)
{
	*probe = (struct probe){
		.io = { .done = probe_done,
			.code = RPMA_UV__IO_READ,
			.fd = fd,
			.addr = value,
			.len = sizeof(*value),
			.buf_index = -1 },
	};
	rpma_uv__ring_queue(turn->r, &probe->io);
}

static inline void probe_write(
	struct turn *turn, struct probe *probe, int fd, void *base, size_t len, uint64_t off)
{
	*probe = (struct probe){
		.io = { .done = probe_done,
			.code = RPMA_UV__IO_WRITE,
			.fd = fd,
			.addr = base,
			.len = len,
			.off = off,
			.buf_index = -1 },
	};
	rpma_uv__ring_queue(turn->r, &probe->io);
}

/* a ring, or the reason why this machine has none */
static inline void probe_ring(struct turn *turn)
{
	int ret = rpma_uv__ring_ensure(turn->r);

	if (ret == UV_ENOSYS || ret == UV_EPERM) {
		printf("no io_uring here: %s\n", uv_strerror(ret));
		exit(77);
	}
	assert_int_equal(ret, 0);
	probes_done = 0;
}

#endif /* RPMA_TEST_PROBE_H */
