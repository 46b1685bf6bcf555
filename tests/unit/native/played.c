/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * played.c - what the library makes of a device with native operations, in a build of any headers
 *
 * The test takes the place of native.c. What native.c makes of the headers is shown by its
 * neighbours, which need headers that know the operations.
 */

#include "native.h"
#include "src/native.h"

/* two access flags stand for the two of a native flush, and any bits for its operations */
#define STRONG IBV_ACCESS_REMOTE_ATOMIC
#define WEAK   IBV_ACCESS_MW_BIND
#define OPS    (IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ)

static struct {
	struct ibv_qp_ex qp;
	bool can_flush, can_atomic_write;
	int ret; /* of a post */
	int weaker_fails; /* errno of the registration after the next weakening; 0: none */

	/* what was posted */
	unsigned flushes, atomic_writes;
	uint64_t wr_id, addr;
	unsigned flags;
	uint32_t rkey;
	size_t len;
	enum rpma_flush_type type;
	char word[8];
} device;

unsigned __wrap_rpma__native_access(const struct rpma__native *native, int usage);
unsigned __wrap_rpma__native_weaker(unsigned access);
uint64_t __wrap_rpma__native_send_ops(const struct rpma__native *native);
struct ibv_qp_ex *__wrap_rpma__native_qp(struct ibv_qp *qp);
bool __wrap_rpma__native_can_flush(const struct ibv_qp_ex *qp);
bool __wrap_rpma__native_can_atomic_write(const struct ibv_qp_ex *qp);
int __wrap_rpma__native_flush(struct ibv_qp_ex *qp, uint64_t wr_id, unsigned send_flags,
	uint32_t rkey, uint64_t addr, size_t len, enum rpma_flush_type type);
int __wrap_rpma__native_atomic_write(struct ibv_qp_ex *qp, uint64_t wr_id, unsigned send_flags,
	uint32_t rkey, uint64_t addr, const char src[8]);

unsigned __wrap_rpma__native_access(const struct rpma__native *native, int usage)
{
	(void)native;
	return usage & RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT ? STRONG | WEAK : 0;
}

unsigned __wrap_rpma__native_weaker(unsigned access)
{
	if (device.weaker_fails)
		double_fail("ibv_reg_mr", 1, device.weaker_fails);
	device.weaker_fails = 0;
	return access & STRONG ? WEAK : 0;
}

uint64_t __wrap_rpma__native_send_ops(const struct rpma__native *native)
{
	(void)native;
	return OPS;
}

struct ibv_qp_ex *__wrap_rpma__native_qp(struct ibv_qp *qp)
{
	(void)qp;
	return &device.qp;
}

bool __wrap_rpma__native_can_flush(const struct ibv_qp_ex *qp)
{
	assert_ptr_equal(qp, &device.qp);
	return device.can_flush;
}

bool __wrap_rpma__native_can_atomic_write(const struct ibv_qp_ex *qp)
{
	assert_ptr_equal(qp, &device.qp);
	return device.can_atomic_write;
}

static int posted(
	struct ibv_qp_ex *qp, uint64_t wr_id, unsigned flags, uint32_t rkey, uint64_t addr)
{
	assert_ptr_equal(qp, &device.qp);
	device.wr_id = wr_id;
	device.flags = flags;
	device.rkey = rkey;
	device.addr = addr;
	return device.ret;
}

int __wrap_rpma__native_flush(struct ibv_qp_ex *qp, uint64_t wr_id, unsigned send_flags,
	uint32_t rkey, uint64_t addr, size_t len, enum rpma_flush_type type)
{
	device.flushes++;
	device.len = len;
	device.type = type;
	return posted(qp, wr_id, send_flags, rkey, addr);
}

int __wrap_rpma__native_atomic_write(struct ibv_qp_ex *qp, uint64_t wr_id, unsigned send_flags,
	uint32_t rkey, uint64_t addr, const char src[8])
{
	device.atomic_writes++;
	memcpy(device.word, src, sizeof(device.word));
	return posted(qp, wr_id, send_flags, rkey, addr);
}

static int setup(void **state)
{
	memset(&device, 0, sizeof(device));
	device.can_flush = device.can_atomic_write = true;
	return native_setup(state);
}

#define PLAYED_TEST(function) cmocka_unit_test_setup_teardown(function, setup, native_teardown)

static int flush(int flags)
{
	return rpma_flush(u.conn, remote, 16, 24, RPMA_FLUSH_TYPE_PERSISTENT, flags, &u);
}

static int atomic_write(int flags)
{
	return rpma_atomic_write(u.conn, remote, 8, "8 bytes", flags, &u);
}

static void played__flush(void **state)
{
	(void)state;
	assert_int_equal(flush(ALWAYS), 0);
	assert_int_equal(device.flushes, 1);
	assert_int_equal(device.wr_id, (uintptr_t)&u);
	assert_int_equal(device.flags, IBV_SEND_SIGNALED);
	assert_int_equal(device.rkey, double_last_mr()->rkey);
	assert_int_equal(device.addr, (uintptr_t)memory + 16);
	assert_int_equal(device.len, 24);
	assert_int_equal(device.type, RPMA_FLUSH_TYPE_PERSISTENT);
	assert_int_equal(double_sends(u.qp), 0);
	device.ret = UNIT_ERRNO;
	assert_int_equal(flush(ALWAYS), RPMA_E_PROVIDER);
	assert_errno(UNIT_ERRNO);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
}

static void played__atomic_write(void **state)
{
	(void)state;
	assert_int_equal(atomic_write(ALWAYS), 0);
	assert_int_equal(device.atomic_writes, 1);
	assert_int_equal(device.wr_id, (uintptr_t)&u);
	assert_int_equal(device.flags, IBV_SEND_SIGNALED | IBV_SEND_FENCE);
	assert_int_equal(device.addr, (uintptr_t)memory + 8);
	assert_memory_equal(device.word, "8 bytes", 8);
	assert_int_equal(double_sends(u.qp), 0);
	device.ret = UNIT_ERRNO;
	assert_int_equal(atomic_write(ALWAYS), RPMA_E_PROVIDER);
	assert_errno(UNIT_ERRNO);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
}

/* the program, the device, or the region says no: the form that every device has */
static void played__emulated(void **state)
{
	struct rpma_mr_local *other;
	struct rpma_mr_remote *other_remote;

	(void)state;
	assert_int_equal(flush(ALWAYS | RPMA_F_EMULATED), 0);
	assert_int_equal(double_last_send(u.qp)->opcode, IBV_WR_RDMA_READ);
	assert_int_equal(atomic_write(ALWAYS | RPMA_F_EMULATED), 0);
	assert_int_equal(double_last_send(u.qp)->opcode, IBV_WR_RDMA_WRITE);
	device.can_flush = device.can_atomic_write = false;
	assert_int_equal(flush(ALWAYS), 0);
	assert_int_equal(atomic_write(ALWAYS), 0);
	assert_int_equal(double_sends(u.qp), 4);
	device.can_flush = true;
	double_fail("ibv_reg_mr", 1, EINVAL);
	other = unit_mr(u.peer, memory, sizeof(memory), USAGE);
	other_remote = unit_mr_remote(other);
	assert_int_equal(
		rpma_flush(u.conn, other_remote, 0, 8, RPMA_FLUSH_TYPE_PERSISTENT, ALWAYS, &u), 0);
	assert_int_equal(double_sends(u.qp), 5);
	assert_int_equal(device.flushes + device.atomic_writes, 0);
	(void)double_flush(u.qp);
	assert_int_equal(rpma_mr_remote_delete(&other_remote), 0);
	assert_int_equal(rpma_mr_dereg(&other), 0);
}

/* a region that is refused is asked for in weaker forms, until it is refused for good */
static void played__region(void **state)
{
	static const int errors[] = { EINVAL, EOPNOTSUPP };
	struct rpma_mr_local *other = UNIT_UNTOUCHED;

	(void)state;
	assert_int_equal(double_last_access() & (STRONG | WEAK), STRONG | WEAK);
	for (size_t i = 0; i < 2; i++) {
		double_fail("ibv_reg_mr", 1, errors[i]);
		double_log_clear();
		other = unit_mr(u.peer, memory, sizeof(memory), USAGE);
		assert_int_equal(double_calls("ibv_reg_mr"), 2);
		assert_int_equal(double_last_access() & (STRONG | WEAK), WEAK);
		assert_int_equal(rpma_mr_dereg(&other), 0);
		double_fail("ibv_reg_mr", 1, errors[i]);
		device.weaker_fails = errors[1 - i];
		double_log_clear();
		other = unit_mr(u.peer, memory, sizeof(memory), USAGE);
		assert_int_equal(double_calls("ibv_reg_mr"), 3);
		assert_int_equal(double_last_access() & (STRONG | WEAK), 0);
		assert_int_equal(rpma_mr_dereg(&other), 0);
	}
	other = UNIT_UNTOUCHED;
	double_fail_always("ibv_reg_mr", EINVAL);
	double_log_clear();
	assert_int_equal(
		rpma_mr_reg(u.peer, memory, sizeof(memory), USAGE, &other), RPMA_E_PROVIDER);
	assert_errno(EINVAL);
	assert_int_equal(double_calls("ibv_reg_mr"), 3);
	double_fail("ibv_reg_mr", 1, UNIT_ERRNO);
	double_log_clear();
	assert_int_equal(
		rpma_mr_reg(u.peer, memory, sizeof(memory), USAGE, &other), RPMA_E_PROVIDER);
	assert_errno(UNIT_ERRNO);
	assert_int_equal(double_calls("ibv_reg_mr"), 1);
	double_fail_none();
	assert_ptr_equal(other, UNIT_UNTOUCHED);
}

/* so is a queue pair; other reasons are told */
static void played__queue_pair(void **state)
{
	struct rpma_conn_req *req = UNIT_UNTOUCHED;
	struct unit_conn plain;

	(void)state;
	assert_int_equal(double_qp_attr(u.qp)->comp_mask,
		IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS);
	assert_int_equal(double_qp_attr(u.qp)->send_ops_flags, OPS);
	double_fail("rdma_create_qp_ex", 1, EOPNOTSUPP);
	unit_conn_new(&plain, NULL);
	assert_int_equal(double_qp_attr(plain.qp)->comp_mask, IBV_QP_INIT_ATTR_PD);
	unit_conn_delete(&plain);
	double_fail("rdma_create_qp_ex", 1, UNIT_ERRNO);
	assert_int_equal(
		rpma_conn_req_new(u.peer, UNIT_ADDR, UNIT_PORT, NULL, &req), RPMA_E_PROVIDER);
	assert_errno(UNIT_ERRNO);
	assert_ptr_equal(req, UNIT_UNTOUCHED);
}

UNIT_MAIN(PLAYED_TEST(played__atomic_write), PLAYED_TEST(played__emulated),
	PLAYED_TEST(played__flush), PLAYED_TEST(played__queue_pair), PLAYED_TEST(played__region))
