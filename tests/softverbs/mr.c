/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* mr.c - protection domains and memory regions */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fault.h"
#include "link.h"
#include "mr.h"
#include "seed.h"

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#ifdef SV_HAS_NATIVE
#define ACCESS_FLUSH (IBV_ACCESS_FLUSH_GLOBAL | IBV_ACCESS_FLUSH_PERSISTENT)
#else
#define ACCESS_FLUSH 0
#endif
#define ACCESS_KNOWN                                                                        \
	(ACCESS_FLUSH | IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |                  \
		IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED | \
		IBV_ACCESS_HUGETLB)

struct entry {
	struct sv_mr *mr;
	uint8_t tag;
};

/* index 0 is never given away: a key of 0 is a common mistake */
static struct entry *entries;
static uint32_t entry_count;
static uint32_t next_free = 1;

static int key_new(struct sv_mr *mr)
{
	for (uint32_t tried = 0; tried < entry_count; tried++) {
		uint32_t i = next_free;

		next_free = next_free + 1 < entry_count ? next_free + 1 : 1;
		if (i < entry_count && entries[i].mr == NULL) {
			entries[i].mr = mr;
			entries[i].tag++;
			mr->base.lkey = i << 8 | entries[i].tag;
			mr->base.rkey = mr->base.lkey;
			return 0;
		}
	}
	uint32_t count = entry_count == 0 ? 64 : entry_count * 2;
	struct entry *more =
		count < UINT32_C(1) << 24 ? realloc(entries, count * sizeof(*more)) : NULL;

	if (more == NULL)
		return ENOMEM;
	memset(more + entry_count, 0, (count - entry_count) * sizeof(*more));
	next_free = entry_count == 0 ? 1 : entry_count;
	entries = more;
	entry_count = count;
	return key_new(mr);
}

static struct sv_mr *key_find(uint32_t key)
{
	uint32_t i = key >> 8;

	if (i >= entry_count || entries[i].mr == NULL || entries[i].mr->base.lkey != key)
		return NULL;
	return entries[i].mr;
}

struct ibv_pd *sv_mr_pd(uint32_t key)
{
	struct sv_mr *mr = key_find(key);

	return mr != NULL ? mr->base.pd : NULL;
}

static struct sv_mr *key_find_with(struct ibv_pd *pd, uint32_t key, int access)
{
	struct sv_mr *mr = key_find(key);

	return mr != NULL && mr->base.pd == pd && (mr->access & access) == access ? mr : NULL;
}

bool sv_mr_allows(struct ibv_pd *pd, uint32_t key, int access)
{
	return key_find_with(pd, key, access) != NULL;
}

void *sv_mr_at(struct ibv_pd *pd, uint32_t key, uint64_t addr, uint64_t length, int access)
{
	struct sv_mr *mr = key_find_with(pd, key, access);

	if (mr == NULL)
		return NULL;
	if (addr < mr->iova || length > mr->base.length ||
		addr - mr->iova > mr->base.length - length)
		return NULL;
	return (char *)mr->base.addr + (addr - mr->iova);
}

bool sv_mr_sges(struct ibv_pd *pd, const struct ibv_sge *in, int n, int access, struct ibv_sge *out)
{
	for (int i = 0; i < n; i++) {
		void *real = NULL;

		out[i] = in[i];
		if (in[i].length == 0)
			continue;
		real = sv_mr_at(pd, in[i].lkey, in[i].addr, in[i].length, access);
		if (real == NULL)
			return false;
		out[i].addr = (uintptr_t)real;
	}
	return true;
}

unsigned sv_mr_count(void)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < entry_count; i++)
		n += entries[i].mr != NULL;
	return n;
}

/* there are no regions: the next ones get the keys that the first ones had */
void sv_mr_forget_keys(void)
{
	for (uint32_t i = 0; i < entry_count; i++)
		entries[i].tag = 0;
	next_free = 1;
}

void sv_mr_forget(void)
{
	/* the parent's regions keep their memory: the program may still read them */
	entries = NULL;
	entry_count = 0;
	next_free = 1;
}

/* one line of /proc/self/maps; true: the range it describes covers *at, which moves to its end */
static bool map_covers(const char *line, uintptr_t *at, bool write)
{
	char *end;
	uintptr_t from = strtoul(line, &end, 16);
	uintptr_t to = *end == '-' ? strtoul(end + 1, &end, 16) : 0;

	if (*at < from || *at >= to || end[0] != ' ' || end[1] != 'r' || (write && end[2] != 'w'))
		return false;
	*at = to;
	return true;
}

/* has the kernel copy a byte onto itself */
static bool is_writable(char *at)
{
	struct iovec byte = { at, 1 };

	return process_vm_readv(getpid(), &byte, 1, &byte, 1, 0) == 1 || errno != EFAULT;
}

/* nearly the same, ten times as fast, for many small worlds: the middle may be read-only */
static bool memory_is_mapped(char *addr, size_t length, bool write)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t at = (uintptr_t)addr & ~(page - 1);
	unsigned char in_core[1024]; /* what the call is about; we ask only if it fails */

	while (at < (uintptr_t)addr + length) {
		uintptr_t part = (uintptr_t)addr + length - at;

		part = part < sizeof(in_core) * page ? part : sizeof(in_core) * page;
		if (mincore((void *)at, part, in_core) != 0)
			return false;
		at += part;
	}
	return !write || (is_writable(addr) && is_writable(addr + length - 1));
}

/* what pinning would find out: is all of it mapped, and writable if it has to be? */
static bool memory_is_there(void *addr, size_t length, bool write)
{
	uintptr_t at = (uintptr_t)addr;
	uintptr_t end = at + length;
	char buf[8192];
	size_t used = 0;
	ssize_t n;
	int fd;

	if (sv_seed_is_on())
		return memory_is_mapped(addr, length, write);
	fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true; /* nobody to ask */
	while (at < end && (n = read(fd, buf + used, sizeof(buf) - 1 - used)) > 0) {
		char *line = buf;
		char *newline;

		used += (size_t)n;
		buf[used] = '\0';
		while ((newline = strchr(line, '\n')) != NULL) {
			map_covers(line, &at, write);
			line = newline + 1;
		}
		used -= (size_t)(line - buf);
		memmove(buf, line, used);
	}
	close(fd);
	return at >= end;
}

static int check_registration(void *addr, size_t length, unsigned access)
{
	unsigned remote_change = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

	if (access & IBV_ACCESS_ON_DEMAND)
		return EOPNOTSUPP;
	if (access & ~(unsigned)(ACCESS_KNOWN | IBV_ACCESS_OPTIONAL_RANGE))
		return EINVAL;
	if ((access & remote_change) && !(access & IBV_ACCESS_LOCAL_WRITE))
		return EINVAL;
	if (length == 0 || (uintptr_t)addr + length < (uintptr_t)addr)
		return EINVAL;
	if (!memory_is_there(addr, length, access & IBV_ACCESS_LOCAL_WRITE))
		return EFAULT;
	return 0;
}

static struct ibv_mr *reg_mr(
	struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned access)
{
	struct sv_mr *mr;
	int ret = check_registration(addr, length, access);

	if (ret != 0) {
		errno = ret;
		return NULL;
	}
	if (SV_DEAD(SV_PD, pd) || !sv_enter_live(pd->context))
		return NULL;
	sv_hold(SV_HOLD_REGISTRATION);
	ret = sv_fault(SV_FAULT_REG_MR, pd);
	mr = ret == 0 ? calloc(1, sizeof(*mr)) : NULL;
	if (ret == 0)
		ret = mr != NULL ? key_new(mr) : ENOMEM;
	if (ret != 0) {
		sv_unlock();
		free(mr);
		errno = ret;
		return NULL;
	}
	mr->base.context = pd->context;
	mr->base.pd = pd;
	mr->base.addr = addr;
	mr->base.length = length;
	mr->base.handle = mr->base.lkey >> 8;
	mr->iova = access & IBV_ACCESS_ZERO_BASED ? 0 : iova;
	mr->access = (int)access;
	sv_born(SV_MR, &mr->base);
	sv_pd(pd)->users++;
	sv_unlock();
	return &mr->base;
}

SV_EXPORT struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	SV_ENTER();
	return reg_mr(pd, addr, length, (uintptr_t)addr, (unsigned)access);
}

SV_EXPORT struct ibv_mr *ibv_reg_mr_iova(
	struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access)
{
	SV_ENTER();
	return reg_mr(pd, addr, length, iova, (unsigned)access);
}

SV_EXPORT struct ibv_mr *ibv_reg_mr_iova2(
	struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned access)
{
	SV_ENTER();
	return reg_mr(pd, addr, length, iova, access);
}

SV_EXPORT int ibv_dereg_mr(struct ibv_mr *base)
{
	struct sv_mr *mr = container_of(base, struct sv_mr, base);

	if (SV_DEAD(SV_MR, base))
		return EINVAL;
	if (!sv_enter(base->context))
		return errno;
	sv_hold(SV_HOLD_REGISTRATION);
	if (key_find(base->lkey) != mr) {
		sv_misuse(SV_SITE, "ibv_dereg_mr of a region that is none");
		sv_unlock();
		return EINVAL;
	}
	list_each(struct sv_link, link, &sv_device.links, node) sv_link_unpin(link, base->lkey);
	if (SV_STRICT)
		sv_watch_unpinned(base->lkey);
	entries[base->lkey >> 8].mr = NULL;
	sv_pd(base->pd)->users--;
	sv_unlock();
	sv_gone(base, mr);
	return 0;
}

SV_EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct sv_pd *pd;

	SV_ENTER();
	if (!sv_enter_live(context))
		return NULL;
	pd = calloc(1, sizeof(*pd));
	if (pd != NULL) {
		pd->base.context = context;
		sv_born(SV_PD, &pd->base);
	}
	sv_unlock();
	return pd != NULL ? &pd->base : NULL;
}

SV_EXPORT int ibv_dealloc_pd(struct ibv_pd *base)
{
	struct sv_pd *pd = sv_pd(base);

	if (SV_DEAD(SV_PD, base))
		return EINVAL;
	if (!sv_enter(base->context))
		return errno;
	if (pd->users != 0) {
		sv_misuse(SV_SITE, "ibv_dealloc_pd with %d objects left in it", pd->users);
		sv_unlock();
		return EBUSY;
	}
	sv_unlock();
	sv_gone(base, pd);
	return 0;
}

SV_EXPORT struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct ibv_ah *ah;

	if (attr->port_num != 1) {
		errno = EINVAL;
		return NULL;
	}
	if (SV_DEAD(SV_PD, pd) || !sv_enter(pd->context))
		return NULL;
	ah = calloc(1, sizeof(*ah));
	if (ah != NULL) {
		ah->context = pd->context;
		ah->pd = pd;
		sv_pd(pd)->users++;
		sv_born(SV_AH, ah);
	}
	sv_unlock();
	return ah;
}

SV_EXPORT int ibv_destroy_ah(struct ibv_ah *ah)
{
	if (SV_DEAD(SV_AH, ah))
		return EINVAL;
	if (!sv_enter(ah->context))
		return errno;
	sv_pd(ah->pd)->users--;
	sv_unlock();
	sv_gone(ah, ah);
	return 0;
}
