/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * export.h - what the reactor may call
 *
 * A private function marked RPMA_PRIVATE_API leaves the shared library under the version node
 * LIBRPMA_PRIVATE_<exact version>: only a library of the same build can bind to it.
 */

#ifndef RPMA_EXPORT_H
#define RPMA_EXPORT_H

#define RPMA_PRIVATE_API __attribute__((visibility("default")))

#endif /* RPMA_EXPORT_H */
