/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* signal_fd.c - an eventfd and a futex that follow a queue */

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "seed.h"
#include "signal_fd.h"

static unsigned open_count;

int sv_signal_open(struct sv_signal *signal)
{
	signal->readable = 0;
	signal->sleepers = 0;
	signal->fd = eventfd(0, EFD_CLOEXEC);
	open_count += signal->fd >= 0;
	return signal->fd < 0 ? -1 : 0;
}

unsigned sv_signal_count(void)
{
	return open_count;
}

void sv_signal_close(struct sv_signal *signal)
{
	if (signal->fd >= 0)
		close(signal->fd);
	open_count -= signal->fd >= 0;
	signal->fd = -1;
}

/* the eventfd never blocks: it is written only when its counter is 0, read only when it is 1 */
void sv_signal_set(struct sv_signal *signal, bool readable)
{
	uint64_t one = 1;
	ssize_t n;

	if (signal->readable == readable)
		return;
	do
		n = readable ? write(signal->fd, &one, sizeof(one))
			     : read(signal->fd, &one, sizeof(one));
	while (n < 0 && errno == EINTR);
	assert(n == sizeof(one));
	sv_seed_touched = true;
	__atomic_store_n(&signal->readable, readable, __ATOMIC_SEQ_CST);
	if (readable && __atomic_load_n(&signal->sleepers, __ATOMIC_SEQ_CST) > 0)
		syscall(SYS_futex, &signal->readable, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

bool sv_signal_nonblocking(const struct sv_signal *signal)
{
	int flags = fcntl(signal->fd, F_GETFL);

	return flags >= 0 && (flags & O_NONBLOCK) != 0;
}

int sv_signal_sleep(struct sv_signal *signal)
{
	long ret;
	int type;

	__atomic_add_fetch(&signal->sleepers, 1, __ATOMIC_SEQ_CST);
	/* as in a read(): nothing is held here that a cancelled thread could keep */
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	ret = syscall(SYS_futex, &signal->readable, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	pthread_setcanceltype(type, &type);
	__atomic_sub_fetch(&signal->sleepers, 1, __ATOMIC_SEQ_CST);
	if (ret == 0 || errno == EAGAIN)
		return 0;
	return -1;
}
