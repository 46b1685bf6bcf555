/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* wire_listen.c - listeners of the socket wire */

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "cm.h"
#include "wire_socket.h"

#define PORT_FIRST 32768 /* of those that are given out for 0 */
#define PORT_LAST  60999
#define PORT_TRIES 1000
#define RETRY_NS   (10 * SV_MS)

static void accept_again(struct sv_timer *timer)
{
	struct sock_listener *l = container_of(timer, struct sock_listener, retry);

	sock_watch(&l->source, EPOLLIN);
}

static struct sock_listener *listener_new(struct sv_listener *owner, int family)
{
	struct sock_listener *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->source.kind = SOURCE_LISTENER;
	l->owner = owner;
	list_init(&l->source.grave);
	sv_timer_init(&l->retry, accept_again);
	l->source.fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->source.fd < 0) {
		free(l);
		return NULL;
	}
	return l;
}

static int bind_unix(int fd, const struct sockaddr *addr, bool v6_only)
{
	struct sockaddr_un name;
	socklen_t length = sock_name(&name, addr, v6_only);

	if (sock_name_conflicts(addr, v6_only))
		return EADDRINUSE;
	return bind(fd, (struct sockaddr *)&name, length) == 0 ? 0 : errno;
}

static int bind_unix_any_port(int fd, struct sockaddr *addr, bool v6_only)
{
	for (int i = 0; i < PORT_TRIES; i++) {
		uint16_t r = (uint16_t)i;
		int ret;

		(void)!getrandom(&r, sizeof(r), 0);
		sv_addr_set_port(addr, (uint16_t)(PORT_FIRST + r % (PORT_LAST - PORT_FIRST + 1)));
		ret = bind_unix(fd, addr, v6_only);
		if (ret != EADDRINUSE)
			return ret;
	}
	return EADDRINUSE;
}

static int bind_tcp(int fd, struct sv_listener *listener)
{
	struct sockaddr *addr = (struct sockaddr *)&listener->addr;
	socklen_t length = sizeof(listener->addr);
	int one = 1;
	int v6_only = listener->v6_only;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (addr->sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6_only, sizeof(v6_only));
	if (bind(fd, addr, sv_addr_length(addr)) != 0 || getsockname(fd, addr, &length) != 0)
		return errno;
	return 0;
}

int sock_bind(struct sv_listener *listener)
{
	struct sockaddr *addr = (struct sockaddr *)&listener->addr;
	struct sock_listener *l = listener_new(listener, sock.tcp ? addr->sa_family : AF_UNIX);
	int ret;

	if (l == NULL)
		return errno;
	if (sock.tcp)
		ret = bind_tcp(l->source.fd, listener);
	else if (sv_addr_port(addr) == 0)
		ret = bind_unix_any_port(l->source.fd, addr, listener->v6_only);
	else
		ret = bind_unix(l->source.fd, addr, listener->v6_only);
	if (ret != 0) {
		close(l->source.fd);
		free(l);
		return ret;
	}
	listener->wire = l;
	return 0;
}

int sock_listen(struct sv_listener *listener)
{
	struct sock_listener *l = listener->wire;

	if (listen(l->source.fd, SOMAXCONN) != 0)
		return errno;
	sock_watch(&l->source, EPOLLIN);
	return 0;
}

void sock_unbind(struct sv_listener *listener)
{
	struct sock_listener *l = listener->wire;

	if (l == NULL)
		return;
	sv_timer_stop(&l->retry);
	sock_bury(&l->source);
	listener->wire = NULL;
}

int sock_meet_bind(struct sv_listener *listener, uint32_t qp_num)
{
	struct sockaddr_un name;
	socklen_t length = sock_name_meet(&name, qp_num);
	struct sock_listener *l;

	if (sock.tcp)
		return EOPNOTSUPP;
	l = listener_new(listener, AF_UNIX);
	if (l == NULL)
		return errno;
	if (bind(l->source.fd, (struct sockaddr *)&name, length) != 0) {
		int ret = errno;

		close(l->source.fd);
		free(l);
		return ret;
	}
	listener->wire = l;
	return sock_listen(listener);
}

/* another user's programs have no business here; root's have everywhere */
static bool may_connect(int fd)
{
	struct ucred cred;
	socklen_t length = sizeof(cred);

	if (sock.tcp || geteuid() == 0)
		return true;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &length) != 0)
		return false;
	return cred.uid == 0 || cred.uid == geteuid();
}

void sock_accept(struct sock_listener *l)
{
	struct sock_link *s;
	int fd = accept4(l->source.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
			sock_watch(&l->source, 0);
			sv_timer_set(&l->retry, sv_clock->now_ns() + RETRY_NS);
		}
		return;
	}
	s = may_connect(fd) ? sock_link_new(fd) : NULL;
	if (s == NULL) {
		close(fd);
		return;
	}
	sock_buffers(fd, sock.tcp);
	s->link.listener = l->owner;
	s->link.state = SV_LINK_UP;
	sock_watch(&s->source, EPOLLIN);
}
