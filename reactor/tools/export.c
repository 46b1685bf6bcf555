/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * export.c - what serve hands out
 */

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "exits.h"
#include "export.h"
#include "sha256.h"

_Static_assert(CONTROL_IDENTITY_BYTES == SHA256_BYTES, "an identity is a digest");

/*
 * What tells one file, in one state, from any other. It goes out as a digest: clients only compare
 * it, and inode numbers are nobody's business.
 */
static int identify_file(const struct stat *st, uint8_t identity[CONTROL_IDENTITY_BYTES])
{
	const uint64_t facts[] = { st->st_dev, st->st_ino, (uint64_t)st->st_size,
		(uint64_t)st->st_mtim.tv_sec, (uint64_t)st->st_mtim.tv_nsec };
	struct sha256 *sha = sha256_new();
	if (!sha)
		return UV_ENOMEM;
	int ret = sha256_add(sha, facts, sizeof(facts));
	if (!ret)
		ret = sha256_end(sha, identity);
	sha256_delete(sha);
	return ret;
}

int export_file(struct export *e, const char *path)
{
	struct stat st;
	int ret;

	/* writable, though it is only read: some kernels pin no page of a read-only mapping */
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return fail(EXIT_STORAGE, "serve: cannot open %s for reading and writing: %s", path,
			reason(-errno));
	if (fstat(fd, &st) != 0) {
		ret = fail(EXIT_STORAGE, "serve: %s: %s", path, reason(-errno));
		goto err_close;
	}
	if (!S_ISREG(st.st_mode)) {
		ret = fail(EXIT_STORAGE, "serve: %s is not a regular file", path);
		goto err_close;
	}
	if (st.st_size == 0) {
		ret = fail(EXIT_STORAGE, "serve: %s is empty", path);
		goto err_close;
	}
	ret = identify_file(&st, e->identity);
	if (ret) {
		ret = fail(EXIT_RESOURCES, "serve: %s", reason(ret));
		goto err_close;
	}
	void *base = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED) {
		ret = fail(EXIT_STORAGE, "serve: cannot map %s: %s", path, reason(-errno));
		goto err_close;
	}

	e->fd = fd;
	e->base = base;
	e->size = (uint64_t)st.st_size;
	return 0;

err_close:
	(void)close(fd);
	return ret;
}

/* word i depends on the seed and i alone, so that any part of it can be foretold (splitmix64) */
static void fill_pattern(uint64_t *words, size_t count, uint64_t seed)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t z = seed + (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
		z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
		z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
		words[i] = z ^ (z >> 31);
	}
}

int export_memory(struct export *e, uint64_t size, uint64_t seed)
{
	if (getrandom(e->identity, sizeof(e->identity), 0) != (ssize_t)sizeof(e->identity))
		return fail(EXIT_RESOURCES, "serve: no random numbers: %s", reason(-errno));

	void *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED)
		return fail(EXIT_RESOURCES, "serve: cannot get %llu bytes of memory: %s",
			(unsigned long long)size, reason(-errno));
	/* a mapping is whole pages: the last word has room beyond the end */
	fill_pattern(base, size / sizeof(uint64_t) + (size % sizeof(uint64_t) != 0), seed);

	e->fd = -1;
	e->base = base;
	e->size = size;
	return 0;
}

void export_close(struct export *e)
{
	(void)munmap(e->base, e->size);
	if (e->fd >= 0)
		(void)close(e->fd);
}

int export_piece(
	const struct export *e, uint64_t offset, size_t len, void *scratch, const void **piece_ptr)
{
	if (e->fd < 0) {
		*piece_ptr = (const char *)e->base + offset;
		return 0;
	}

	for (size_t got = 0; got < len;) {
		ssize_t n = pread(e->fd, (char *)scratch + got, len - got, (off_t)(offset + got));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return UV_EOF;
		got += (size_t)n;
	}
	*piece_ptr = scratch;
	return 0;
}
