/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* inputs.c - the futures that the tests of all and any make one of */

#include "inputs.h"

rpma_uv_op_t ops[N];
rpma_uv_future_t *inputs[N];

void inputs_new(bool from_slab)
{
	for (unsigned i = 0; i < N; i++)
		inputs[i] = rpma_uv_promise(&rig.reactor, from_slab ? NULL : &ops[i]);
}

void inputs_are_held(void)
{
	for (unsigned i = 0; i < N; i++) {
		rpma_uv_future_t *other = rpma_uv_promise(&rig.reactor, NULL);

		for (unsigned k = 0; k < N; k++)
			assert_ptr_not_equal(other, inputs[k]);
		rpma_uv_resolve(other, 0, 0);
		rpma_uv_release(other);
	}
}

static struct {
	rpma_uv_future_t *(*make)(rpma_uv_future_t *input);
	rpma_uv_future_t *future;
} made;

static void make_of(rpma_uv_future_t *input, int status)
{
	(void)status;
	made.future = made.make(input);
}

void inputs_make_in_callback(rpma_uv_future_t *(*make)(rpma_uv_future_t *input))
{
	rpma_uv_future_t *f = rpma_uv_promise(&rig.reactor, NULL);

	made.make = make;
	made.future = NULL;
	rpma_uv_then(f, make_of, NULL);
	rpma_uv_resolve(f, UV_EIO, 0);
	RIG_UNTIL(made.future != NULL);
	assert_int_equal(rpma_uv_wait(made.future, UINT64_MAX, NULL), UV_EIO);
	rig_slab_is(64);
}
