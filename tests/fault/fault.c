/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* fault.c - fails each provider call and each allocation of a scenario in turn */

#include <stdio.h>
#include <stdlib.h>

#include "fault.h"

/* with the log switched off a failure looks the same, but for the message */
static bool is_silent;

/* the run that is going on */
static struct {
	int err; /* ordered for provider calls; 0: an allocation fails */
	unsigned failed; /* results that were not 0 */
	unsigned logged; /* messages of the level ERROR */
} run;

static struct {
	unsigned count;
	unsigned fail_from; /* 0: none */
	unsigned fail_to;
	long live; /* allocated and not freed */
} allocs;

/* the linker sends librpma's calls here; the double's own are passed on */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void __real_free(void *ptr);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void __wrap_free(void *ptr);

static bool alloc_fails(void)
{
	allocs.count++;
	return allocs.fail_from && allocs.count >= allocs.fail_from &&
	       allocs.count <= allocs.fail_to;
}

void *__wrap_malloc(size_t size)
{
	void *ptr;

	if (double_is_inside())
		return __real_malloc(size);
	if (alloc_fails())
		return NULL;
	ptr = __real_malloc(size);
	allocs.live += ptr != NULL;
	return ptr;
}

void *__wrap_calloc(size_t count, size_t size)
{
	void *ptr;

	if (double_is_inside())
		return __real_calloc(count, size);
	if (alloc_fails())
		return NULL;
	ptr = __real_calloc(count, size);
	allocs.live += ptr != NULL;
	return ptr;
}

void __wrap_free(void *ptr)
{
	if (ptr && !double_is_inside())
		allocs.live--;
	__real_free(ptr);
}

static void count_errors(enum rpma_log_level level, const char *file_name, const int line_no,
	const char *function_name, const char *message_format, ...)
{
	(void)file_name, (void)line_no, (void)function_name, (void)message_format;
	run.logged += level == RPMA_LOG_LEVEL_ERROR;
	errno = EXFULL; /* librpma has to keep its own errno */
}

bool fault_ok(int ret)
{
	if (!ret)
		return true;
	if (ret == RPMA_E_PROVIDER) {
		assert_int_equal(errno, run.err);
		assert_int_equal(run.logged > 0, !is_silent);
	}
	if (run.err == 0)
		assert_int_equal(ret, RPMA_E_NOMEM);
	run.failed++;
	run.logged = 0;
	return false;
}

static void *object_at(void *object_ptr)
{
	void *object;

	memcpy(&object, object_ptr, sizeof(object));
	return object;
}

bool fault_made(int ret, void *object_ptr)
{
	if (fault_ok(ret))
		return true;
	assert_ptr_equal(object_at(object_ptr), FAULT_UNTOUCHED);
	return false;
}

bool fault_made_or_null(int ret, void *object_ptr)
{
	if (fault_ok(ret))
		return true;
	if (object_at(object_ptr))
		assert_ptr_equal(object_at(object_ptr), FAULT_UNTOUCHED);
	return false;
}

void fault_gone(int ret, void *object_ptr)
{
	(void)fault_ok(ret);
	assert_null(object_at(object_ptr));
}

void fault_forget_untouched(void *object_ptr)
{
	if (object_at(object_ptr) == FAULT_UNTOUCHED)
		memset(object_ptr, 0, sizeof(void *));
}

static void start(int err)
{
	double_reset();
	memset(&allocs, 0, sizeof(allocs));
	memset(&run, 0, sizeof(run));
	run.err = err;
	assert_int_equal(rpma_log_set_function(count_errors), 0);
	assert_int_equal(rpma_log_set_threshold(RPMA_LOG_THRESHOLD,
				 is_silent ? RPMA_LOG_DISABLED : RPMA_LOG_LEVEL_DEBUG),
		0);
}

static void expect_clean(const char *what, unsigned k, bool always, int err)
{
	if (double_is_clean() && allocs.live == 0)
		return;
	fail_msg("left over after failure of %s %u %s (%s): %ld allocations", what, k,
		always ? "for good" : "once", strerror(err), allocs.live);
}

/* how many of the calls fail without any result that tells */
static unsigned fail_calls(const struct fault_plan *plan, unsigned calls, int err, bool always)
{
	unsigned k, absorbed = 0;

	for (k = 1; k <= calls; k++) {
		start(err);
		double_fail_any(k, err, always);
		plan->run(plan->arg);
		expect_clean("call", k, always, err);
		absorbed += run.failed == 0;
	}
	return absorbed;
}

static void fail_allocs(const struct fault_plan *plan, unsigned count, bool always)
{
	unsigned k;

	for (k = 1; k <= count; k++) {
		start(0);
		allocs.fail_from = k;
		allocs.fail_to = always ? UINT32_MAX : k;
		plan->run(plan->arg);
		allocs.fail_from = 0; /* what is linked in for coverage allocates at exit */
		expect_clean("allocation", k, always, ENOMEM);
		assert_int_equal(run.failed, 1);
	}
}

static void each(const struct fault_plan *plan)
{
	static const int errs[] = { ENOTRECOVERABLE, EAGAIN, EINVAL, ENOMEM };
	unsigned calls, count, absorbed;
	size_t i;

	start(0);
	plan->run(plan->arg);
	expect_clean("nothing", 0, false, 0);
	assert_int_equal(run.failed, 0);
	calls = double_calls_total();
	count = allocs.count;
	assert_true(calls > 0);
	assert_true(count > 0);

	for (i = 0; i < sizeof(errs) / sizeof(errs[0]); i++) {
		absorbed = plan->absorbed + (errs[i] == EINVAL ? plan->absorbed_einval : 0);
		assert_int_equal(fail_calls(plan, calls, errs[i], false), absorbed);
		(void)fail_calls(plan, calls, errs[i], true);
	}
	fail_allocs(plan, count, false);
	fail_allocs(plan, count, true);
	double_reset();
	printf("%u calls, %u allocations\n", calls, count);
}

void fault_each(const struct fault_plan *plan)
{
	is_silent = false;
	each(plan);
	is_silent = true;
	each(plan);
}
