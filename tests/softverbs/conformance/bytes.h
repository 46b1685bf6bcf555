/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* bytes.h - contents of memory, to be made and recognized */

#ifndef CONFORMANCE_BYTES_H
#define CONFORMANCE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* bytes that a seed determines; two seeds differ in every byte, unless they are 256 apart */
void fill(uint8_t *at, size_t len, unsigned int seed);
bool filled(const uint8_t *at, size_t len, unsigned int seed);

bool zeroed(const void *at, size_t len);

#endif /* CONFORMANCE_BYTES_H */
