/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* room.c - a connection has a page for its flushes, or is none; it goes with the connection */

#include <sys/mman.h>
#include <unistd.h>

#include "unit.h"

static bool sysconf_fails, mmap_fails, munmap_fails;
static int pages; /* mapped and not yet unmapped */

long __real_sysconf(int name);
long __wrap_sysconf(int name);
void *__real_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset);
int __real_munmap(void *addr, size_t len);
int __wrap_munmap(void *addr, size_t len);

long __wrap_sysconf(int name)
{
	if (!sysconf_fails)
		return __real_sysconf(name);
	errno = EINVAL;
	return -1;
}

void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	if (mmap_fails) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	pages++;
	assert_int_equal(flags, MAP_SHARED | MAP_ANONYMOUS);
	return __real_mmap(addr, len, prot, flags, fd, offset);
}

int __wrap_munmap(void *addr, size_t len)
{
	pages--;
	assert_int_equal(__real_munmap(addr, len), 0);
	if (!munmap_fails)
		return 0;
	errno = UNIT_ERRNO;
	return -1;
}

static int setup(void **state)
{
	sysconf_fails = mmap_fails = munmap_fails = false;
	pages = 0;
	return unit_setup(state);
}

/* 8 bytes of a page of its own, which the device may write */
static void room__made(void **state)
{
	struct unit_conn u;

	(void)state;
	unit_conn_new(&u, NULL);
	assert_int_equal(pages, 1);
	assert_int_equal(double_last_mr()->length, 8);
	assert_int_equal((uintptr_t)double_last_mr()->addr % (uintptr_t)sysconf(_SC_PAGESIZE), 0);
	assert_int_equal(double_last_access(), IBV_ACCESS_LOCAL_WRITE);
	unit_conn_delete(&u);
	assert_int_equal(pages, 0);
}

static void expect_no_conn(int expected, enum rpma_log_level level)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_conn_req *req = unit_req_active(peer, NULL);
	struct rpma_conn *conn = UNIT_UNTOUCHED;

	unit_log_forget();
	assert_int_equal(rpma_conn_req_connect(&req, NULL, &conn), expected);
	assert_null(req);
	assert_ptr_equal(conn, UNIT_UNTOUCHED);
	if (level != RPMA_LOG_DISABLED)
		assert_int_equal(unit_logged(level), 1);
	assert_int_equal(pages, 0);
	unit_peer_delete(peer);
}

static void room__no_page_size(void **state)
{
	(void)state;
	sysconf_fails = true;
	expect_no_conn(RPMA_E_PROVIDER, RPMA_LOG_LEVEL_FATAL);
}

static void room__no_page(void **state)
{
	(void)state;
	mmap_fails = true;
	expect_no_conn(RPMA_E_NOMEM, RPMA_LOG_DISABLED);
}

static void room__no_region(void **state)
{
	(void)state;
	double_fail("ibv_reg_mr", 1, UNIT_ERRNO);
	expect_no_conn(RPMA_E_PROVIDER, RPMA_LOG_LEVEL_ERROR);
	assert_errno(UNIT_ERRNO);
}

/* what was made before the connection's own events failed is undone */
static void room__no_events(void **state)
{
	(void)state;
	double_fail("rdma_create_event_channel", 1, UNIT_ERRNO);
	expect_no_conn(RPMA_E_PROVIDER, RPMA_LOG_LEVEL_ERROR);
}

static void room__unmapping_fails(void **state)
{
	struct unit_conn u;

	(void)state;
	unit_conn_new(&u, NULL);
	munmap_fails = true;
	assert_int_equal(rpma_conn_delete(&u.conn), RPMA_E_INVAL);
	assert_null(u.conn);
	munmap_fails = false;
	unit_peer_delete(u.peer);
}

/* the queue pair goes first: a flush on its way still has its region */
static void room__flush_on_its_way(void **state)
{
	struct rpma_mr_remote *remote;
	struct rpma_mr_local *mr;
	struct unit_conn u;
	uint8_t memory[8];

	(void)state;
	unit_conn_new(&u, NULL);
	mr = unit_mr(u.peer, memory, sizeof(memory), RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY);
	remote = unit_mr_remote(mr);
	assert_int_equal(rpma_flush(u.conn, remote, 0, 8, RPMA_FLUSH_TYPE_VISIBILITY,
				 RPMA_F_COMPLETION_ALWAYS, NULL),
		0);
	assert_int_equal(rpma_conn_delete(&u.conn), 0);
	assert_int_equal(double_problems(), 0);
	assert_int_equal(rpma_mr_remote_delete(&remote), 0);
	assert_int_equal(rpma_mr_dereg(&mr), 0);
	unit_peer_delete(u.peer);
}

#define ROOM_TEST(function) cmocka_unit_test_setup_teardown(function, setup, unit_teardown)

UNIT_MAIN(ROOM_TEST(room__flush_on_its_way), ROOM_TEST(room__made), ROOM_TEST(room__no_events),
	ROOM_TEST(room__no_page), ROOM_TEST(room__no_page_size), ROOM_TEST(room__no_region),
	ROOM_TEST(room__unmapping_fails))
