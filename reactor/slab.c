/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* slab.c - grows by blocks to its high-water mark, and then never again */

#include <assert.h>
#include <stdlib.h>

#include "reactor.h"
#include "slab.h"

/* futures one block has room for */
#define BLOCK 64

union object {
	union object *next;
	rpma_uv_op_t op;
	rpma_uv_all_t all;
	rpma_uv_any_t any;
};

struct rpma_uv__slab_block {
	struct rpma_uv__slab_block *next;
	union object objects[BLOCK];
};

static int grow(struct rpma_uv__reactor *r)
{
	struct rpma_uv__slab_block *block = malloc(sizeof(*block));

	if (block == NULL)
		return UV_ENOMEM;
	block->next = r->slab_blocks;
	r->slab_blocks = block;
	for (unsigned i = 0; i < BLOCK; i++) {
		block->objects[i].next = r->slab_free;
		r->slab_free = &block->objects[i];
	}
	r->stats.slab_objects += BLOCK;
	return 0;
}

void *rpma_uv__slab_get(struct rpma_uv__reactor *r)
{
	union object *object;

	if (r->slab_free == NULL && grow(r))
		return NULL;
	object = r->slab_free;
	r->slab_free = object->next;
	r->stats.slab_used++;
	return object;
}

void rpma_uv__slab_put(struct rpma_uv__reactor *r, void *storage)
{
	union object *object = storage;

	assert(r->stats.slab_used > 0);
	r->stats.slab_used--;
	object->next = r->slab_free;
	r->slab_free = object;
}

void rpma_uv__slab_free(struct rpma_uv__reactor *r)
{
	struct rpma_uv__slab_block *block;

	while ((block = r->slab_blocks) != NULL) {
		r->slab_blocks = block->next;
		free(block);
	}
	r->slab_free = NULL;
}
