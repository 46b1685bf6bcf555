/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* flush.c - making sure that what was written to a remote region has arrived */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "err.h"
#include "flush.h"
#include "log.h"
#include "mr.h"

/* how much an emulated flush reads; neither the amount nor the place matters */
#define READ_SIZE 8

struct rpma__flush {
	void *page; /* of its own, so that a child process may go without it */
	size_t page_size;
	struct rpma_mr_local *mr;
};

int rpma__flush_new(struct rpma_peer *peer, struct rpma__flush **flush_ptr)
{
	const long page_size = sysconf(_SC_PAGESIZE);
	struct rpma__flush *flush;
	int ret;

	if (page_size < 0) {
		RPMA_LOG_FATAL("the size of a page cannot be found out: %s", strerror(errno));
		return RPMA_E_PROVIDER;
	}
	flush = malloc(sizeof(*flush));
	if (!flush)
		return RPMA_E_NOMEM;
	flush->page_size = (size_t)page_size;
	flush->page = mmap(
		NULL, flush->page_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (flush->page == MAP_FAILED) {
		ret = RPMA_E_NOMEM;
		goto err_free;
	}
	ret = rpma_mr_reg(peer, flush->page, READ_SIZE, RPMA_MR_USAGE_READ_DST, &flush->mr);
	if (ret)
		goto err_munmap;

	*flush_ptr = flush;
	return 0;

err_munmap:
	RPMA__UNDO(munmap(flush->page, flush->page_size));
err_free:
	RPMA__UNDO(free(flush));
	return ret;
}

int rpma__flush_delete(struct rpma__flush **flush_ptr)
{
	struct rpma__flush *const flush = *flush_ptr;
	struct rpma__err_first first = { 0 };

	if (!flush)
		return 0;

	rpma__err_step(&first, rpma_mr_dereg(&flush->mr));
	if (munmap(flush->page, flush->page_size))
		rpma__err_step(&first, RPMA_E_INVAL);
	free(flush);
	*flush_ptr = NULL;
	return rpma__err_result(&first);
}

int rpma__flush_check(const struct rpma_mr_remote *dst, size_t offset, size_t len,
	enum rpma_flush_type type, bool is_direct_write)
{
	uint32_t usage = RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY;

	if (type == RPMA_FLUSH_TYPE_PERSISTENT) {
		usage = RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT;
		if (!is_direct_write) {
			RPMA_LOG_ERROR(
				"a flush to persistence needs a peer with direct write to pmem");
			return RPMA_E_NOSUPP;
		}
	} else if (type != RPMA_FLUSH_TYPE_VISIBILITY) {
		return RPMA_E_INVAL;
	}
	if (!(dst->usage & usage)) {
		RPMA_LOG_ERROR("the remote region was not registered for flushes to %s",
			type == RPMA_FLUSH_TYPE_PERSISTENT ? "persistence" : "visibility");
		return RPMA_E_NOSUPP;
	}
	return rpma__mr_remote_contains(dst, offset, len) ? 0 : RPMA_E_INVAL;
}

void rpma__flush_read(const struct rpma__flush *flush, const struct rpma_mr_remote *dst,
	size_t offset, struct ibv_sge *sge, uint64_t *addr, uint32_t *rkey)
{
	size_t len = READ_SIZE;

	/* a region may be smaller, and a flush may be of its last bytes */
	if (len > dst->size)
		len = dst->size;
	if (offset > dst->size - len)
		offset = dst->size - len;
	(void)rpma__mr_local_sge(flush->mr, 0, len, sge);
	(void)rpma__mr_remote_target(dst, offset, len, addr, rkey);
}
