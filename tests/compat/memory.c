/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* memory.c - peers, local regions, remote regions */

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "ends.h"

#define DESCRIPTOR_SIZE 21
#define PAGE            4096

/* ---- peers ----------------------------------------------------------------------------------- */

static void peer_several(void)
{
	struct rpma_peer *a = compat_peer(), *b = compat_peer();

	MUST(a != b);
	MUST_EQ(rpma_peer_delete(&a), 0);
	MUST(a == NULL);
	MUST_EQ(rpma_peer_delete(&b), 0);
}

static void peer_null(void)
{
	struct rpma_peer *peer = UNTOUCHED, *none = NULL;

	MUST_EQ(rpma_peer_new(NULL, &peer), RPMA_E_INVAL);
	MUST(peer == UNTOUCHED);
	MUST_EQ(rpma_peer_new(compat_verbs(), NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_peer_delete(NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_peer_delete(&none), 0);
}

/* a sanitizer's, if there is one */
extern void __lsan_disable(void) __attribute__((weak));
extern void __lsan_enable(void) __attribute__((weak));

static void peer_busy(void)
{
	struct rpma_mr_local *mr = NULL;
	struct rpma_peer *peer;

	/* what the provider does not give back is lost: that is no discovery */
	if (__lsan_disable != NULL)
		__lsan_disable();
	peer = compat_peer();
	if (__lsan_enable != NULL)
		__lsan_enable();

	MUST_EQ(rpma_mr_reg(peer, compat_memory(PAGE), PAGE, ENDS_USAGE, &mr), 0);
	MUST_EQ(rpma_peer_delete(&peer), RPMA_E_PROVIDER);
	MUST(peer == NULL);
	MUST_EQ(rpma_mr_dereg(&mr), 0);
}

const struct check peer_checks[] = {
	{ "a context has any number of peers", NULL, peer_several },
	{ "NULL is invalid, a NULL object can be deleted", NULL, peer_null },
	{ "one that is in use is gone, and the provider's error is told", NULL, peer_busy },
	{ NULL },
};

/* ---- local regions --------------------------------------------------------------------------- */

/* a peer and a region with a usage on it; sizes are odd on purpose */
struct region {
	struct rpma_peer *peer;
	struct rpma_mr_local *mr;
	uint8_t *memory;
	size_t size;
};

static void region_open(struct region *r, int usage)
{
	r->peer = compat_peer();
	r->size = PAGE + 1001;
	r->memory = compat_memory(2 * PAGE) + 3;
	MUST_EQ(rpma_mr_reg(r->peer, r->memory, r->size, usage, &r->mr), 0);
}

static void region_close(struct region *r)
{
	MUST_EQ(rpma_mr_dereg(&r->mr), 0);
	MUST(r->mr == NULL);
	MUST_EQ(rpma_peer_delete(&r->peer), 0);
}

static void mr_values(void)
{
	struct region r;
	void *ptr = NULL;
	size_t size = 0;

	region_open(&r, ENDS_USAGE);
	MUST_EQ(rpma_mr_get_ptr(r.mr, &ptr), 0);
	MUST(ptr == r.memory);
	MUST_EQ(rpma_mr_get_size(r.mr, &size), 0);
	MUST_EQ(size, r.size);
	region_close(&r);
}

static void mr_usages(void)
{
	/* any of them, alone and with others */
	for (int usage = 1; usage <= 0xFF; usage++) {
		struct region r;
		uint8_t bytes[DESCRIPTOR_SIZE];

		region_open(&r, usage);
		MUST_EQ(rpma_mr_get_descriptor(r.mr, bytes), 0);
		MUST_EQ(bytes[20], usage);
		region_close(&r);
	}
}

static void mr_invalid(void)
{
	struct rpma_peer *peer = compat_peer();
	struct rpma_mr_local *mr = UNTOUCHED;
	void *memory = compat_memory(PAGE);
	const int usage = RPMA_MR_USAGE_READ_SRC;

	MUST_EQ(rpma_mr_reg(NULL, memory, PAGE, usage, &mr), RPMA_E_INVAL);
	MUST_EQ(rpma_mr_reg(peer, NULL, PAGE, usage, &mr), RPMA_E_INVAL);
	MUST_EQ(rpma_mr_reg(peer, memory, 0, usage, &mr), RPMA_E_INVAL);
	MUST_EQ(rpma_mr_reg(peer, memory, PAGE, usage, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_mr_reg(peer, memory, PAGE, 0, &mr), RPMA_E_INVAL);
	MUST_EQ(rpma_mr_reg(peer, memory, PAGE, usage | 0x100, &mr), RPMA_E_INVAL);
	MUST_EQ(rpma_mr_reg(peer, memory, PAGE, -1, &mr), RPMA_E_INVAL);
	MUST(mr == UNTOUCHED);
	MUST_EQ(rpma_peer_delete(&peer), 0);
}

static void mr_null(void)
{
	struct rpma_mr_local *none = NULL;
	uint8_t bytes[DESCRIPTOR_SIZE] = { 42 };
	void *ptr = UNTOUCHED;
	size_t size = 42;
	struct region r;

	region_open(&r, ENDS_USAGE);
	MUST_EQ(rpma_mr_get_ptr(NULL, &ptr), RPMA_E_INVAL);
	MUST_EQ(rpma_mr_get_ptr(r.mr, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_mr_get_size(NULL, &size), RPMA_E_INVAL);
	MUST_EQ(rpma_mr_get_size(r.mr, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_mr_get_descriptor(NULL, bytes), RPMA_E_INVAL);
	MUST_EQ(rpma_mr_get_descriptor(r.mr, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_mr_get_descriptor_size(NULL, &size), RPMA_E_INVAL);
	MUST_EQ(rpma_mr_get_descriptor_size(r.mr, NULL), RPMA_E_INVAL);
	MUST(ptr == UNTOUCHED && size == 42 && bytes[0] == 42);
	MUST_EQ(rpma_mr_dereg(NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_mr_dereg(&none), 0);
	region_close(&r);
}

static void mr_unmapped(void)
{
	struct rpma_peer *peer = compat_peer();
	struct rpma_mr_local *mr = UNTOUCHED;
	uint8_t *memory = compat_memory(PAGE);
	int ret;

	MUST_EQ(munmap(memory, PAGE), 0);
	errno = 0;
	ret = rpma_mr_reg(peer, memory, PAGE, RPMA_MR_USAGE_READ_SRC, &mr);
	IMPROVED(15, ret == RPMA_E_PROVIDER && errno == EFAULT, false);
	MUST(mr == UNTOUCHED);
	MUST_EQ(rpma_peer_delete(&peer), 0);
}

static void mr_descriptor(void)
{
	uint8_t bytes[1 + DESCRIPTOR_SIZE + 1];
	size_t size = 0;
	uint64_t addr, length;
	struct region r;

	region_open(&r, 0xFF);
	MUST_EQ(rpma_mr_get_descriptor_size(r.mr, &size), 0);
	MUST_EQ(size, DESCRIPTOR_SIZE);
	memset(bytes, 0xA5, sizeof(bytes));
	/* nowhere aligned, and no byte before or behind it */
	MUST_EQ(rpma_mr_get_descriptor(r.mr, bytes + 1), 0);
	MUST_EQ(bytes[0], 0xA5);
	MUST_EQ(bytes[1 + DESCRIPTOR_SIZE], 0xA5);
	memcpy(&addr, bytes + 1, sizeof(addr));
	memcpy(&length, bytes + 9, sizeof(length));
	MUST(le64toh(addr) == (uintptr_t)r.memory);
	MUST_EQ(le64toh(length), r.size);
	MUST(!zeroed(bytes + 17, 4)); /* no device has a key of 0 */
	MUST_EQ(bytes[21], 0xFF);
	region_close(&r);
}

/* a read-only mapping is good enough for the source of a write, where the device takes it */
static void mr_read_only(void)
{
	struct rpma_peer *peer = compat_peer();
	struct ibv_pd *pd = ibv_alloc_pd(compat_verbs());
	struct rpma_mr_local *mr = UNTOUCHED;
	struct ibv_mr *probe;
	void *memory = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int ret;

	MUST(memory != MAP_FAILED);
	probe = ibv_reg_mr(pd, memory, PAGE, 0);
	if (probe == NULL)
		SKIP("this device registers no read-only memory");
	MUST_EQ(ibv_dereg_mr(probe), 0);
	ret = rpma_mr_reg(peer, memory, PAGE, RPMA_MR_USAGE_WRITE_SRC, &mr);
	IMPROVED(22, ret == 0, ret == RPMA_E_PROVIDER && mr == UNTOUCHED);
	if (ret == 0)
		MUST_EQ(rpma_mr_dereg(&mr), 0);
	MUST_EQ(rpma_peer_delete(&peer), 0);
	MUST_EQ(ibv_dealloc_pd(pd), 0);
}

/* what rpma_mr_advise() makes of the provider's answer */
static int advised(int error)
{
	switch (error) {
	case 0:
		return 0;
	case EOPNOTSUPP:
		return RPMA_E_NOSUPP;
	case EFAULT:
	case EINVAL:
		return RPMA_E_INVAL;
	default:
		return RPMA_E_PROVIDER;
	}
}

static void advise(void)
{
	struct ibv_pd *pd = ibv_alloc_pd(compat_verbs());
	struct ibv_mr *probe;
	struct ibv_sge sge;
	struct region r;
	int error;

	region_open(&r, ENDS_USAGE);
	probe = ibv_reg_mr(pd, r.memory, r.size, IBV_ACCESS_LOCAL_WRITE);
	MUST(probe != NULL);
	sge = (struct ibv_sge){ (uintptr_t)r.memory, (uint32_t)r.size, probe->lkey };
	error = ibv_advise_mr(
		pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1);
	check_note("the device says %d, %s", error, strerror(error));
	MUST_EQ(rpma_mr_advise(r.mr, 0, r.size, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
			IBV_ADVISE_MR_FLAG_FLUSH),
		advised(error));
	MUST_EQ(ibv_dereg_mr(probe), 0);
	MUST_EQ(ibv_dealloc_pd(pd), 0);
	region_close(&r);
}

static int advise_nothing(void)
{
	return rpma_mr_advise(NULL, 0, 1, IBV_ADVISE_MR_ADVICE_PREFETCH, 0);
}

static void advise_null(void)
{
	int ret;
	const bool crashes = compat_crashes(advise_nothing, &ret);

	IMPROVED(7, !crashes && ret == RPMA_E_INVAL, crashes);
}

static void advise_outside(void)
{
	struct region r;
	int inside, outside;

	region_open(&r, ENDS_USAGE);
	inside = rpma_mr_advise(
		r.mr, 0, r.size, IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH);
	outside = rpma_mr_advise(
		r.mr, 1, r.size, IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH);
	if (inside == RPMA_E_INVAL)
		SKIP("the device refuses what is inside, too");
	IMPROVED(8, outside == RPMA_E_INVAL, outside == inside);
	region_close(&r);
}

const struct check mr_checks[] = {
	{ "a region has its address and size", NULL, mr_values },
	{ "any usage of the eight bits, and the descriptor has it", "10.1", mr_usages },
	{ "NULL, no bytes, no usage, unknown usages are invalid", NULL, mr_invalid },
	{ "getters refuse NULL, outputs are untouched, a NULL object can go", NULL, mr_null },
	{ "memory that is not mapped is the provider's error, with its errno", NULL, mr_unmapped,
		.differs = true },
	{ "the descriptor is 21 bytes: address, length, key, usage, little-endian", "10.1",
		mr_descriptor },
	{ "read-only memory as the source of a write", NULL, mr_read_only, .differs = true },
	{ "advice is passed on, the provider's answer translated", NULL, advise },
	{ "advice for no region", NULL, advise_null, .differs = true },
	{ "advice for bytes outside of the region", NULL, advise_outside, .differs = true },
	{ NULL },
};

/* ---- remote regions -------------------------------------------------------------------------- */

/* a descriptor with these values, made by hand */
static void describe(
	uint8_t bytes[DESCRIPTOR_SIZE], uint64_t addr, uint64_t size, uint32_t rkey, uint8_t usage)
{
	addr = htole64(addr);
	size = htole64(size);
	rkey = htole32(rkey);
	memcpy(bytes, &addr, 8);
	memcpy(bytes + 8, &size, 8);
	memcpy(bytes + 16, &rkey, 4);
	bytes[20] = usage;
}

static struct rpma_mr_remote *remote_of(uint64_t addr, uint64_t size, uint32_t rkey, uint8_t usage)
{
	struct rpma_mr_remote *mr = NULL;
	uint8_t bytes[DESCRIPTOR_SIZE];

	describe(bytes, addr, size, rkey, usage);
	MUST_EQ(rpma_mr_remote_from_descriptor(bytes, sizeof(bytes), &mr), 0);
	memset(bytes, 0, sizeof(bytes)); /* nobody looks at it again */
	MUST(mr != NULL);
	return mr;
}

static void remote_values(void)
{
	struct region r;
	size_t size = 0;

	region_open(&r, ENDS_USAGE);
	struct rpma_mr_remote *mr = ends_remote(r.mr);
	MUST_EQ(rpma_mr_remote_get_size(mr, &size), 0);
	MUST_EQ(size, r.size);
	MUST_EQ(rpma_mr_remote_delete(&mr), 0);
	MUST(mr == NULL);
	region_close(&r);
}

static void remote_size(void)
{
	static const uint64_t sizes[] = { 0, 1, UINT64_C(1) << 40, UINT64_MAX };

	/* nothing is compared with anything */
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct rpma_mr_remote *mr = remote_of(i, sizes[i], 0, 1);
		size_t size = 42;

		MUST_EQ(rpma_mr_remote_get_size(mr, &size), 0);
		MUST(size == sizes[i]);
		MUST_EQ(rpma_mr_remote_delete(&mr), 0);
	}
}

static void remote_flush_type(void)
{
	for (int usage = 1; usage <= 0xFF; usage++) {
		struct rpma_mr_remote *mr = remote_of(PAGE, PAGE, 1, (uint8_t)usage);
		int flush_type = -1;

		MUST_EQ(rpma_mr_remote_get_flush_type(mr, &flush_type), 0);
		MUST_EQ(flush_type, usage & (RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY |
						    RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT));
		MUST_EQ(rpma_mr_remote_delete(&mr), 0);
	}
}

static void remote_longer(void)
{
	uint8_t bytes[DESCRIPTOR_SIZE + 11];
	struct rpma_mr_remote *mr = NULL;
	size_t size;

	memset(bytes, 0xFF, sizeof(bytes));
	describe(bytes, PAGE, 123, 7, 1);
	MUST_EQ(rpma_mr_remote_from_descriptor(bytes, sizeof(bytes), &mr), 0);
	MUST_EQ(rpma_mr_remote_get_size(mr, &size), 0);
	MUST_EQ(size, 123);
	MUST_EQ(rpma_mr_remote_delete(&mr), 0);
}

static void remote_invalid(void)
{
	struct rpma_mr_remote *mr = UNTOUCHED;
	uint8_t bytes[DESCRIPTOR_SIZE];

	describe(bytes, PAGE, PAGE, 1, 1);
	compat_log_to(RPMA_LOG_LEVEL_ERROR);
	MUST_EQ(rpma_mr_remote_from_descriptor(NULL, sizeof(bytes), &mr), RPMA_E_INVAL);
	MUST_EQ(rpma_mr_remote_from_descriptor(bytes, sizeof(bytes), NULL), RPMA_E_INVAL);
	MUST_EQ(compat_log.count[RPMA_LOG_LEVEL_ERROR], 0);
	for (size_t size = 0; size < sizeof(bytes); size++)
		MUST_EQ(rpma_mr_remote_from_descriptor(bytes, size, &mr), RPMA_E_INVAL);
	MUST_EQ(compat_log.count[RPMA_LOG_LEVEL_ERROR], DESCRIPTOR_SIZE);
	describe(bytes, PAGE, PAGE, 1, 0);
	MUST_EQ(rpma_mr_remote_from_descriptor(bytes, sizeof(bytes), &mr), RPMA_E_INVAL);
	MUST_EQ(compat_log.count[RPMA_LOG_LEVEL_ERROR], DESCRIPTOR_SIZE + 1);
	MUST(mr == UNTOUCHED);
}

static void remote_null(void)
{
	struct rpma_mr_remote *mr = remote_of(PAGE, PAGE, 1, 1), *none = NULL;
	int flush_type = 42;
	size_t size = 42;

	MUST_EQ(rpma_mr_remote_get_size(NULL, &size), RPMA_E_INVAL);
	MUST_EQ(rpma_mr_remote_get_size(mr, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_mr_remote_get_flush_type(NULL, &flush_type), RPMA_E_INVAL);
	MUST_EQ(rpma_mr_remote_get_flush_type(mr, NULL), RPMA_E_INVAL);
	MUST(size == 42 && flush_type == 42);
	MUST_EQ(rpma_mr_remote_delete(NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_mr_remote_delete(&none), 0);
	MUST_EQ(rpma_mr_remote_delete(&mr), 0);
}

static void remote_bytes(void)
{
	struct rpma_mr_remote *a = remote_of(0x1122334455667788, 99, 0x42, 0xFF);
	struct rpma_mr_remote *b = remote_of(0x1122334455667788, 99, 0x42, 0xFF);

	MUST(memcmp(a, b, 14) == 0);
	MUST_EQ(rpma_mr_remote_delete(&a), 0);
	MUST_EQ(rpma_mr_remote_delete(&b), 0);
}

const struct check mr_remote_checks[] = {
	{ "a region's descriptor brings its size", NULL, remote_values },
	{ "any size is taken, of 64 bits", NULL, remote_size },
	{ "the flush type is a mask of two usages", NULL, remote_flush_type },
	{ "what is behind 21 bytes does not count", "10.1", remote_longer },
	{ "less than 21 bytes or no usage are invalid, and logged", NULL, remote_invalid },
	{ "NULL is invalid, a NULL object can be deleted", NULL, remote_null },
	{ "two of one descriptor are equal in 14 bytes", "15", remote_bytes },
	{ NULL },
};
