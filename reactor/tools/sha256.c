/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * sha256.c - SHA-256 by libcrypto, which knows the processor's instructions for it
 */

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <uv.h>

#include "sha256.h"

struct sha256 {
	EVP_MD_CTX *ctx;
};

struct sha256 *sha256_new(void)
{
	struct sha256 *sha = malloc(sizeof(*sha));
	if (!sha)
		return NULL;
	sha->ctx = EVP_MD_CTX_new();
	if (!sha->ctx)
		goto err_free;
	if (!EVP_DigestInit_ex(sha->ctx, EVP_sha256(), NULL))
		goto err_ctx_free;
	return sha;

err_ctx_free:
	EVP_MD_CTX_free(sha->ctx);
err_free:
	free(sha);
	return NULL;
}

void sha256_delete(struct sha256 *sha)
{
	if (!sha)
		return;
	EVP_MD_CTX_free(sha->ctx);
	free(sha);
}

int sha256_add(struct sha256 *sha, const void *data, size_t len)
{
	return EVP_DigestUpdate(sha->ctx, data, len) ? 0 : UV_ENOMEM;
}

int sha256_end(struct sha256 *sha, uint8_t digest[SHA256_BYTES])
{
	return EVP_DigestFinal_ex(sha->ctx, digest, NULL) ? 0 : UV_ENOMEM;
}

void sha256_thread_end(void)
{
	OPENSSL_thread_stop();
}

const char *sha256_format(const uint8_t digest[SHA256_BYTES], char text[SHA256_TEXT])
{
	static const char digits[] = "0123456789abcdef";

	for (int i = 0; i < SHA256_BYTES; i++) {
		text[2 * i] = digits[digest[i] >> 4];
		text[2 * i + 1] = digits[digest[i] & 15];
	}
	text[2 * SHA256_BYTES] = '\0';
	return text;
}
