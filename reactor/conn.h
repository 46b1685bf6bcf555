/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */
#ifndef RPMA_UV_CONN_H
#define RPMA_UV_CONN_H
#endif
