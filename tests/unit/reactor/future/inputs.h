/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* inputs.h - the futures that the tests of all and any make one of */

#ifndef RPMA_UV_TEST_FUTURE_INPUTS_H
#define RPMA_UV_TEST_FUTURE_INPUTS_H

#include "rig.h"

/* how many there are */
#define N 5

extern rpma_uv_op_t ops[N]; /* of those that are not of the slab */
extern rpma_uv_future_t *inputs[N];

/* all of them anew, pending */
void inputs_new(bool from_slab);

/* inputs of the slab are not given back yet: nothing new is in the place of one */
void inputs_are_held(void);

/*
 * make() is called in the callback of its input, which is of the slab and has failed; what it makes
 * of this one fails alike
 */
void inputs_make_in_callback(rpma_uv_future_t *(*make)(rpma_uv_future_t *input));

#endif /* RPMA_UV_TEST_FUTURE_INPUTS_H */
