/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * wire.h - what carries links: sockets, or something else that behaves like them
 *
 * The device model knows no descriptor and no address family of a transport; a wire knows no queue
 * pair. A wire owns the memory of its links (struct sv_link is the first member of its own kind) and
 * tells the model what happens through link.h. Nothing is reported from inside one of these calls,
 * except that resume() hands over bytes that were kept back.
 */

#ifndef SOFTVERBS_WIRE_H
#define SOFTVERBS_WIRE_H

#include <stdbool.h>
#include <sys/socket.h>

#include "link.h"

/* an address and port that ids bind; the id embeds it */
struct sv_listener {
	struct sockaddr_storage addr; /* its port is filled in by bind() */
	bool v6_only;
	bool listening;
	int backlog; /* requests that the program has not fetched yet, at most */
	int waiting; /* those there are; links beyond are marked deferred */
	bool deferring; /* there may be some */
	struct sv_id *id; /* NULL: the meeting point of a queue pair */
	struct sv_qp *qp;
	void *wire; /* the wire's own; NULL: not bound */
};

struct sv_wire {
	const char *name;
	bool threaded; /* false: the program's own calls step it, there is no thread */

	int (*start)(void); /* 0 or an errno */

	/* reserves the address; a port of 0 is chosen. 0 or an errno (EADDRINUSE, EADDRNOTAVAIL) */
	int (*bind)(struct sv_listener *listener);
	int (*listen)(struct sv_listener *listener);
	void (*unbind)(struct sv_listener *listener);

	/* may dst be reached at all? 0 or an errno, such as EHOSTUNREACH */
	int (*reach)(const struct sockaddr_storage *dst);

	/* a link in state CONNECTING, or NULL with *error; sv_link_up or sv_link_down comes later */
	struct sv_link *(*connect)(const struct sockaddr_storage *dst, int *error);

	/* the same by the number of a queue pair, for those that are connected without a CM */
	int (*meet_bind)(struct sv_listener *listener, uint32_t qp_num);
	struct sv_link *(*meet)(uint32_t qp_num, int *error);

	void (*kick)(struct sv_link *link); /* there is something to send */
	void (*resume)(struct sv_link *link); /* the model can take what it refused */
	void (*close)(struct sv_link *link); /* send what is queued, then free it */

	int (*step)(void); /* moves what can be moved at once; the number of things done */
	void (*sleep)(void); /* not threaded: somebody waits, so something has to happen */
	int (*wait_fd)(void); /* readable when step() has something to do; -1: no such thing */
	void (*forget)(void); /* in a forked child: close what was the parent's, disturb nothing */
};

extern const struct sv_wire *sv_wire; /* chosen by sv_progress_start() */
extern const struct sv_wire sv_wire_unix;
extern const struct sv_wire sv_wire_tcp;
extern const struct sv_wire sv_wire_seed;

#endif
