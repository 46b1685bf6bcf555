/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * control.h - what serve and pull say to each other besides the data
 *
 * First a greeting each way, as private data of the connection: it keeps strangers out before any
 * message is exchanged. Then messages, each one send:
 *
 *     pull                                serve
 *      |  greeting REQUEST  ------------>  |
 *      |  <----  WELCOME, or REFUSAL       |   a refusal rejects the connection
 *      |  ASK  ------------------------->  |   which region, which range, a digest or not
 *      |  <--------  REGION, or REFUSAL    |   the descriptor to read with
 *      |  <--------  DIGEST, or REFUSAL    |   if asked for, as soon as it is known
 *
 * Numbers are little-endian. Both begin alike, and everything is checked before it is used:
 *
 *     greeting   0 magic[8]  8 version u16  10 kind u16  12 code u16  14 text length u16  16 text
 *     message    0 magic[8]  8 version u16  10 type u16  12 length u32, of all of it      16 body
 *     ASK        flags u32, reserved u32 (0), offset u64, length u64 (0: the rest),
 *                name length u16, name
 *     REGION     size u64, offset u64, length u64, identity[32], descriptor length u16, descriptor
 *     DIGEST     offset u64, length u64, SHA-256[32]
 *     REFUSAL    code u16, text length u16, text
 *
 * A greeting arrives with zeros behind it, since InfiniBand and RoCE transmit the whole field; a
 * message has to be exactly as long as it says.
 */

#ifndef RPMA_TOOLS_CONTROL_H
#define RPMA_TOOLS_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONTROL_VERSION 1

/* no message is longer, so a receive of this size takes any */
#define CONTROL_MESSAGE_MAX 512
/* private data of a rejection has room for 148 bytes on InfiniBand and RoCE, of a request for 56 */
#define CONTROL_GREETING_MAX 148

#define CONTROL_TEXT_MAX       ((size_t)128)
#define CONTROL_NAME_MAX       ((size_t)63)
#define CONTROL_DESCRIPTOR_MAX ((size_t)64)
#define CONTROL_IDENTITY_BYTES 32
#define CONTROL_DIGEST_BYTES   32

/* what is wrong with received bytes; control_strerror() says it */
enum control_error {
	CONTROL_OK = 0,
	CONTROL_FOREIGN = -1, /* no magic number: not this program */
	CONTROL_UNSPOKEN = -2, /* a version that we do not speak */
	CONTROL_LENGTH = -3, /* cut off, too long, or lengths that contradict each other */
	CONTROL_TYPE = -4, /* an unknown sort of greeting or message */
	CONTROL_VALUE = -5, /* a field holds what it may not */
};

const char *control_strerror(int error);

/* why the other side was turned down */
enum control_code {
	CONTROL_CODE_NONE = 0,
	CONTROL_CODE_FOREIGN,
	CONTROL_CODE_VERSION,
	CONTROL_CODE_FULL, /* too many clients */
	CONTROL_CODE_MALFORMED, /* a message that does not hold what it should */
	CONTROL_CODE_NAME, /* no such region */
	CONTROL_CODE_RANGE, /* outside the region */
	CONTROL_CODE_DIGEST, /* the source could not be read for its digest */
};

struct control_refusal {
	uint16_t code;
	char text[CONTROL_TEXT_MAX + 1]; /* printable ASCII */
};

enum control_kind {
	CONTROL_REQUEST = 1,
	CONTROL_WELCOME,
	CONTROL_TURNED_DOWN,
};

struct control_greeting {
	enum control_kind kind;
	struct control_refusal refusal; /* of CONTROL_TURNED_DOWN */
};

enum control_type {
	CONTROL_ASK = 1,
	CONTROL_REGION,
	CONTROL_DIGEST,
	CONTROL_REFUSAL,
};

struct control_ask {
	bool digest;
	uint64_t offset;
	uint64_t length; /* 0: to the end */
	char name[CONTROL_NAME_MAX + 1];
};

struct control_region {
	uint64_t size; /* of the whole region */
	uint64_t offset; /* the range that was granted; inside the region, not empty */
	uint64_t length;
	uint8_t identity[CONTROL_IDENTITY_BYTES]; /* the same as long as the source is */
	uint16_t descriptor_len;
	uint8_t descriptor[CONTROL_DESCRIPTOR_MAX];
};

struct control_digest {
	uint64_t offset;
	uint64_t length;
	uint8_t sha256[CONTROL_DIGEST_BYTES];
};

struct control_message {
	enum control_type type;
	union {
		struct control_ask ask;
		struct control_region region;
		struct control_digest digest;
		struct control_refusal refusal;
	};
};

/* fill in a refusal; what does not fit or print is cut or replaced */
void control_refuse(struct control_refusal *refusal, enum control_code code, const char *format,
	...) __attribute__((format(printf, 3, 4)));

/* write into buf, which holds CONTROL_GREETING_MAX or CONTROL_MESSAGE_MAX bytes: the length */
size_t control_greeting_encode(const struct control_greeting *greeting, void *buf);
size_t control_encode(const struct control_message *message, void *buf);

/*
 * Read what came from the other side, len bytes: CONTROL_OK, or a negative enum control_error and
 * nothing to be read from the output. CONTROL_UNSPOKEN is told before anything that depends on it.
 */
int control_greeting_decode(struct control_greeting *greeting, const void *buf, size_t len);
int control_decode(struct control_message *message, const void *buf, size_t len);

#endif /* RPMA_TOOLS_CONTROL_H */
