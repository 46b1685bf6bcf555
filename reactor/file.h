/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * file.h - what the rest of the library needs of files
 *
 * ASSUMPTIONS
 * - a file is on reactor->files from its opening until its close callback has returned
 * - a holder drops what it holds; until then the file's close waits, and operations that are called
 *   on a closing file end UV_ECANCELED
 */

#ifndef RPMA_UV_FILE_H
#define RPMA_UV_FILE_H

#include <stdbool.h>

#include "librpma_uv.h"

struct rpma_uv__reactor;

/* the reactor closes: cancel what runs and close all files that are not closing yet */
void rpma_uv__file_close_all(struct rpma_uv__reactor *r);

struct rpma_uv__reactor *rpma_uv__file_reactor(const rpma_uv_file_t *f);

/* keep a file, and give it up */
void rpma_uv__file_hold(rpma_uv_file_t *f);
void rpma_uv__file_drop(rpma_uv_file_t *f);

/* 0, or the status that a write or sync would be refused with: closing, or a sync has failed */
int rpma_uv__file_status(const rpma_uv_file_t *f);

/* created by us, and its directory has not been synced yet: no byte of it counts as durable */
bool rpma_uv__file_is_unnamed(const rpma_uv_file_t *f);

#endif /* RPMA_UV_FILE_H */
