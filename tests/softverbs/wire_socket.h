/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * wire_socket.h - what the files of the socket wire share
 *
 * ASSUMPTIONS: the device lock is held. One epoll descriptor has all sockets; what it reports is looked
 * up under the lock, and what is closed is freed by the next step, so a pointer it gives is good.
 */

#ifndef SOFTVERBS_WIRE_SOCKET_H
#define SOFTVERBS_WIRE_SOCKET_H

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/un.h>

#include "clock.h"
#include "wire.h"

enum source_kind { SOURCE_LINK, SOURCE_LISTENER };

/* what an epoll event points to */
struct source {
	enum source_kind kind;
	int fd;
	uint32_t events; /* registered; 0: not at all */
	bool dead;
	struct list grave;
};

struct sock_listener {
	struct source source;
	struct sv_listener *owner;
	struct sv_timer retry; /* descriptors have run out: accept again later */
};

#define SV_NAMES 4 /* candidates for one destination */

struct sock_link {
	struct sv_link link; /* first: this is what the model sees */
	struct source source;
	bool sending; /* guards against a kick from inside of one */
	bool no_sending; /* the peer does not read any more */
	struct sv_timer timer; /* connect: try again; closing: long enough */
	struct sockaddr_un names[SV_NAMES]; /* unix: still to be tried */
	socklen_t name_lengths[SV_NAMES];
	int name_count;
	int name_at;
};

struct sock_state {
	int epoll_fd;
	bool tcp;
	struct list graveyard; /* struct source.grave */
};

extern struct sock_state sock;

/* wire_socket.c */
struct sock_link *sock_link_new(int fd);
void sock_watch(struct source *source, uint32_t events);
void sock_bury(struct source *source); /* closes it; freed by the next step */
void sock_buffers(int fd, bool tcp);

/* wire_listen.c */
int sock_bind(struct sv_listener *listener);
int sock_listen(struct sv_listener *listener);
void sock_unbind(struct sv_listener *listener);
int sock_meet_bind(struct sv_listener *listener, uint32_t qp_num);
void sock_accept(struct sock_listener *l);

/* wire_names.c: abstract names of unix sockets */
socklen_t sock_name(struct sockaddr_un *name, const struct sockaddr *addr, bool v6_only);
socklen_t sock_name_meet(struct sockaddr_un *name, uint32_t qp_num);
int sock_names_for(const struct sockaddr *dst, struct sockaddr_un *names, socklen_t *lengths);
bool sock_name_conflicts(const struct sockaddr *addr, bool v6_only);

#endif
