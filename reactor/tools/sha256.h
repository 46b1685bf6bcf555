/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * sha256.h - SHA-256, piece by piece
 *
 * ASSUMPTIONS
 * - one thread at a time per object; different objects are independent
 */

#ifndef RPMA_TOOLS_SHA256_H
#define RPMA_TOOLS_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES 32
#define SHA256_TEXT  (2 * SHA256_BYTES + 1)

struct sha256;

/* NULL: no memory */
struct sha256 *sha256_new(void);
/* NULL is fine */
void sha256_delete(struct sha256 *sha);

/* 0, or UV_ENOMEM: the digest is lost then */
int sha256_add(struct sha256 *sha, const void *data, size_t len);
int sha256_end(struct sha256 *sha, uint8_t digest[SHA256_BYTES]);

/* this thread has no more to hash: libcrypto lets go of what it keeps for it */
void sha256_thread_end(void);

/* in hexadecimal; returns text */
const char *sha256_format(const uint8_t digest[SHA256_BYTES], char text[SHA256_TEXT]);

#endif /* RPMA_TOOLS_SHA256_H */
