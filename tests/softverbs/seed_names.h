/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * seed_names.h - who listens where, in a simulation
 *
 * The first four are the calls of wire.h. ASSUMPTIONS: the device lock is held.
 */

#ifndef SOFTVERBS_SEED_NAMES_H
#define SOFTVERBS_SEED_NAMES_H

#include "wire.h"

int sv_seed_bind(struct sv_listener *listener);
int sv_seed_listen(struct sv_listener *listener);
void sv_seed_unbind(struct sv_listener *listener);
int sv_seed_meet_bind(struct sv_listener *listener, uint32_t qp_num);

struct sv_listener *sv_seed_find_listener(const struct sockaddr *dst); /* NULL: nobody */
struct sv_listener *sv_seed_find_meet(uint32_t qp_num);
unsigned sv_seed_names_count(void); /* that are bound */
void sv_seed_names_forget(void);

#endif
