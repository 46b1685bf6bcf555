/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * wire_socket.c - links over sockets: abstract unix sockets on one host, TCP on request
 *
 *     CONNECTING --connected--> UP --end of stream or error--> DOWN
 *                                |                               |
 *                                `-- close(): what is queued is sent, then the sending side is shut;
 *                                    gone when the peer's end has arrived, or after LINGER_NS
 */

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cm.h"
#include "wire_socket.h"

#define IOV_MAX_TX  64
#define BUFFER      (4 << 20)
#define LINGER_NS   (2000 * SV_MS)
#define AGAIN_NS    (2 * SV_MS)
#define READ_BUDGET (1 << 20) /* of one link, before the others get their turn */
#define EVENTS      32

struct sock_state sock = { .epoll_fd = -1 };

static struct sock_link *sock_of(struct sv_link *link)
{
	return container_of(link, struct sock_link, link);
}

void sock_buffers(int fd, bool tcp)
{
	int size = BUFFER;
	int one = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) != 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	if (!tcp)
		return;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

void sock_watch(struct source *source, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = source };
	int op = source->events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;

	if (source->fd < 0 || source->events == events)
		return;
	if (events == 0)
		op = EPOLL_CTL_DEL; /* a hang-up is reported even if nothing is asked for */
	if (epoll_ctl(sock.epoll_fd, op, source->fd, &event) == 0)
		source->events = events;
}

static void hang_up(struct source *source)
{
	if (source->fd < 0)
		return;
	sock_watch(source, 0);
	shutdown(source->fd, SHUT_RDWR); /* a forked child may hold a copy */
	close(source->fd);
	source->fd = -1;
}

void sock_bury(struct source *source)
{
	hang_up(source);
	if (source->dead)
		return;
	source->dead = true;
	list_push(&sock.graveyard, &source->grave);
}

static void bury_link(struct sock_link *s)
{
	sv_timer_stop(&s->timer);
	sv_tx_drop_all(&s->link);
	list_remove(&s->link.node);
	sock_bury(&s->source);
}

static void free_dead(void)
{
	while (!list_empty(&sock.graveyard)) {
		struct source *source = list_first(&sock.graveyard, struct source, grave);

		list_remove(&source->grave);
		if (source->kind == SOURCE_LINK)
			free(container_of(source, struct sock_link, source));
		else
			free(container_of(source, struct sock_listener, source));
	}
}

/* false: nothing more can be sent now */
static bool send_some(struct sock_link *s, bool first_only)
{
	struct iovec iov[IOV_MAX_TX];
	struct msghdr msg = { .msg_iov = iov };
	ssize_t n;

	msg.msg_iovlen = (size_t)sv_tx_iov(&s->link, iov, first_only ? 1 : IOV_MAX_TX);
	if (msg.msg_iovlen == 0)
		return false; /* a slow wire: not yet */
	n = sendmsg(s->source.fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n >= 0) {
		sv_tx_sent(&s->link, (size_t)n);
		return true;
	}
	if (errno == EINTR)
		return true;
	if (errno == EAGAIN) {
		sock_watch(&s->source, s->source.events | EPOLLOUT);
		return false;
	}
	if (errno == EFAULT)
		return !first_only ? send_some(s, true) : sv_tx_fault(&s->link);
	s->no_sending = true; /* reading will tell that this is the end */
	return false;
}

static void sock_kick(struct sv_link *link)
{
	struct sock_link *s = sock_of(link);

	if (s->sending || s->source.fd < 0 || (s->source.events & EPOLLOUT))
		return;
	s->sending = true;
	while (!list_empty(&link->tx_queue) && !s->no_sending && send_some(s, false))
		;
	if (s->no_sending)
		sv_tx_drop_all(link);
	s->sending = false;
	if (link->closing && list_empty(&link->tx_queue))
		shutdown(s->source.fd, SHUT_WR);
}

static void link_ended(struct sock_link *s, int status)
{
	hang_up(&s->source);
	if (s->link.closing)
		bury_link(s);
	else
		sv_link_down(&s->link, status);
}

/* one read; the number of bytes, 0 when there is no more for now */
static size_t read_some(struct sock_link *s)
{
	struct iovec iov[SV_MAX_SGE + 2];
	struct msghdr msg = { .msg_iov = iov };
	ssize_t n;

	msg.msg_iovlen = (size_t)sv_rx_iov(&s->link, iov, SV_MAX_SGE + 2);
	n = recvmsg(s->source.fd, &msg, MSG_DONTWAIT);
	if (n > 0) {
		sv_rx_got(&s->link, (size_t)n);
		return (size_t)n;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 0 && errno == EFAULT && s->link.rx.in_payload && !s->link.rx.discard) {
		sv_rx_fault(&s->link);
		return 1;
	}
	link_ended(s, n == 0 ? 0 : errno);
	return 0;
}

static void sock_read(struct sock_link *s)
{
	size_t budget = READ_BUDGET;
	size_t n;

	do {
		n = read_some(s);
		budget -= n < budget ? n : budget;
		if (s->link.broken && s->source.fd >= 0) {
			link_ended(s, ENOMEM);
			return;
		}
	} while (n >= SV_STAGE_SIZE && budget > 0 && s->source.fd >= 0 && !s->link.paused);
	if (s->link.paused)
		sock_watch(&s->source, 0);
}

static void sock_resume(struct sv_link *link)
{
	struct sock_link *s = sock_of(link);

	sv_rx_parse(link);
	if (!link->paused)
		sock_watch(&s->source, EPOLLIN);
	sock_kick(link);
}

static void connect_next(struct sock_link *s);

static void on_timer(struct sv_timer *timer)
{
	struct sock_link *s = container_of(timer, struct sock_link, timer);

	if (s->link.closing)
		bury_link(s);
	else if (s->link.state == SV_LINK_CONNECTING)
		connect_next(s);
}

struct sock_link *sock_link_new(int fd)
{
	struct sock_link *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	sv_link_init(&s->link);
	s->source.kind = SOURCE_LINK;
	s->source.fd = fd;
	list_init(&s->source.grave);
	sv_timer_init(&s->timer, on_timer);
	return s;
}

static void connected(struct sock_link *s)
{
	sock_watch(&s->source, EPOLLIN);
	sv_link_up(&s->link);
}

/* unix: tries the names that are left; the backlog of the peer's socket may be full for a while */
static void connect_next(struct sock_link *s)
{
	while (s->name_at < s->name_count) {
		if (connect(s->source.fd, (struct sockaddr *)&s->names[s->name_at],
			    s->name_lengths[s->name_at]) == 0) {
			connected(s);
			return;
		}
		if (errno == EAGAIN) {
			sv_timer_set(&s->timer, sv_clock->now_ns() + AGAIN_NS);
			return;
		}
		s->name_at++;
	}
	link_ended(s, ECONNREFUSED);
}

static struct sv_link *open_link(int family, int *error)
{
	struct sock_link *s;
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0) {
		*error = errno;
		return NULL;
	}
	sock_buffers(fd, family != AF_UNIX);
	s = sock_link_new(fd);
	if (s == NULL) {
		close(fd);
		*error = ENOMEM;
		return NULL;
	}
	return &s->link;
}

/* nothing is reported from here, so even what works at once waits for the next step */
static struct sv_link *sock_connect(const struct sockaddr_storage *dst, int *error)
{
	struct sv_link *link = open_link(sock.tcp ? dst->ss_family : AF_UNIX, error);
	struct sock_link *s;

	if (link == NULL)
		return NULL;
	s = sock_of(link);
	if (sock.tcp) {
		if (connect(s->source.fd, (const struct sockaddr *)dst,
			    sv_addr_length((const struct sockaddr *)dst)) == 0 ||
			errno == EINPROGRESS)
			sock_watch(&s->source, EPOLLOUT);
		else
			sv_timer_set(&s->timer, 0); /* no name is left to be tried: refused */
		return link;
	}
	s->name_count = sock_names_for((const struct sockaddr *)dst, s->names, s->name_lengths);
	sv_timer_set(&s->timer, 0);
	return link;
}

static struct sv_link *sock_meet(uint32_t qp_num, int *error)
{
	struct sv_link *link;
	struct sock_link *s;

	*error = EOPNOTSUPP;
	link = sock.tcp ? NULL : open_link(AF_UNIX, error);
	if (link == NULL)
		return NULL;
	s = sock_of(link);
	s->name_count = 1;
	s->name_lengths[0] = sock_name_meet(&s->names[0], qp_num);
	sv_timer_set(&s->timer, 0);
	return link;
}

static void sock_close(struct sv_link *link)
{
	struct sock_link *s = sock_of(link);

	if (link->state != SV_LINK_UP || s->source.fd < 0) {
		bury_link(s);
		return;
	}
	sv_timer_set(&s->timer, sv_clock->now_ns() + LINGER_NS);
	sock_watch(&s->source, s->source.events | EPOLLIN);
	sock_kick(link);
}

static void tcp_connected(struct sock_link *s)
{
	int error = 0;
	socklen_t length = sizeof(error);

	getsockopt(s->source.fd, SOL_SOCKET, SO_ERROR, &error, &length);
	if (error != 0)
		link_ended(s, error);
	else
		connected(s);
}

static void link_event(struct sock_link *s, uint32_t events)
{
	if (s->link.state == SV_LINK_CONNECTING) {
		tcp_connected(s);
		return;
	}
	if (events & EPOLLOUT) {
		sock_watch(&s->source, s->source.events & ~(uint32_t)EPOLLOUT);
		sock_kick(&s->link);
	}
	if (s->source.fd < 0 || !(events & ~(uint32_t)EPOLLOUT))
		return;
	if (s->link.paused) /* a hang-up, which would be told again and again */
		sock_watch(&s->source, 0);
	else
		sock_read(s);
}

static int sock_step(void)
{
	struct epoll_event events[EVENTS];
	int n;

	free_dead();
	n = epoll_wait(sock.epoll_fd, events, EVENTS, 0);
	for (int i = 0; i < n; i++) {
		struct source *source = events[i].data.ptr;

		if (source->dead || source->fd < 0)
			continue;
		if (source->kind == SOURCE_LINK)
			link_event(
				container_of(source, struct sock_link, source), events[i].events);
		else
			sock_accept(container_of(source, struct sock_listener, source));
	}
	return n > 0 ? n : 0;
}

static int sock_wait_fd(void)
{
	return sock.epoll_fd;
}

static int start(bool tcp)
{
	sock.tcp = tcp;
	list_init(&sock.graveyard);
	sock.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	return sock.epoll_fd >= 0 ? 0 : errno;
}

static int start_unix(void)
{
	return start(false);
}

static int start_tcp(void)
{
	return start(true);
}

/* only close(): the parent's sockets and its epoll set are the same objects */
static void sock_forget(void)
{
	close(sock.epoll_fd);
	sock.epoll_fd = -1;
	list_each(struct sv_link, link, &sv_device.links, node) if (sock_of(link)->source.fd >= 0)
		close(sock_of(link)->source.fd);
	list_each(struct sv_id, id, &sv_device.ids, node) if (id->listener.wire != NULL)
		close(((struct sock_listener *)id->listener.wire)->source.fd);
	list_each(struct sv_qp, qp, &sv_device.qps,
		node) if (qp->meet != NULL && qp->meet->wire != NULL)
		close(((struct sock_listener *)qp->meet->wire)->source.fd);
	list_init(&sock.graveyard);
}

static int reach_unix(const struct sockaddr_storage *dst)
{
	return sv_addr_is_local((const struct sockaddr *)dst) ? 0 : EHOSTUNREACH;
}

static int reach_tcp(const struct sockaddr_storage *dst)
{
	(void)dst;
	return 0;
}

const struct sv_wire sv_wire_unix = {
	.name = "unix",
	.threaded = true,
	.start = start_unix,
	.bind = sock_bind,
	.listen = sock_listen,
	.unbind = sock_unbind,
	.reach = reach_unix,
	.connect = sock_connect,
	.meet_bind = sock_meet_bind,
	.meet = sock_meet,
	.kick = sock_kick,
	.resume = sock_resume,
	.close = sock_close,
	.step = sock_step,
	.wait_fd = sock_wait_fd,
	.forget = sock_forget,
};

const struct sv_wire sv_wire_tcp = {
	.name = "tcp",
	.threaded = true,
	.start = start_tcp,
	.bind = sock_bind,
	.listen = sock_listen,
	.unbind = sock_unbind,
	.reach = reach_tcp,
	.connect = sock_connect,
	.meet_bind = sock_meet_bind,
	.meet = sock_meet,
	.kick = sock_kick,
	.resume = sock_resume,
	.close = sock_close,
	.step = sock_step,
	.wait_fd = sock_wait_fd,
	.forget = sock_forget,
};
