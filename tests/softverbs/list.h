/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * list.h - intrusive doubly linked lists
 *
 * ASSUMPTIONS: a node is initialised (list_init) before its first use; an unlinked node points to
 * itself, so removing it again does nothing and "is it on a list" has an answer.
 */

#ifndef SOFTVERBS_LIST_H
#define SOFTVERBS_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *next;
	struct list *prev;
};

#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

#define list_first(head, type, member) container_of((head)->next, type, member)

/* the body may remove var, and nothing else */
#define list_each(type, var, head, member)                                    \
	for (type *var = list_first(head, type, member),                      \
		  *var##_next = container_of(var->member.next, type, member); \
		&var->member != (head);                                       \
		var = var##_next, var##_next = container_of(var->member.next, type, member))

static inline void list_init(struct list *l)
{
	l->next = l;
	l->prev = l;
}

static inline bool list_empty(const struct list *l)
{
	return l->next == l;
}

/* before `where`: at the end of the list when `where` is its head */
static inline void list_insert(struct list *where, struct list *node)
{
	node->next = where;
	node->prev = where->prev;
	where->prev->next = node;
	where->prev = node;
}

static inline void list_push(struct list *head, struct list *node)
{
	list_insert(head, node);
}

static inline void list_remove(struct list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	list_init(node);
}

#endif
