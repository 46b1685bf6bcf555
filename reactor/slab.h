/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * slab.h - room for the futures that the program brings none for
 *
 * ASSUMPTIONS
 * - what is put back came from the same reactor's slab, and nobody looks at it any more
 */

#ifndef RPMA_UV_SLAB_H
#define RPMA_UV_SLAB_H

struct rpma_uv__reactor;

/* room for any single operation, an `all` or an `any`; NULL: it had to grow and could not */
void *rpma_uv__slab_get(struct rpma_uv__reactor *r);
void rpma_uv__slab_put(struct rpma_uv__reactor *r, void *storage);

/* the memory goes back to the heap */
void rpma_uv__slab_free(struct rpma_uv__reactor *r);

#endif /* RPMA_UV_SLAB_H */
