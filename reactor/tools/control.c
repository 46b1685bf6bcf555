/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * control.c - encode and decode, with every length checked before it is used
 *
 * A cursor walks the bytes. Once it has failed it stays failed and gives zeros, so that a decoder
 * reads all its fields first and looks once.
 */

#include <assert.h>
#include <endian.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "control.h"

static const uint8_t magic[8] = { 'r', 'p', 'm', 'a', '.', 'u', 'v', 0x1a };

#define HEAD_BYTES ((size_t)16)

#define ASK_DIGEST UINT32_C(1)

static_assert(HEAD_BYTES + CONTROL_TEXT_MAX <= CONTROL_GREETING_MAX, "a refusal fits a rejection");
static_assert(HEAD_BYTES + 4 + CONTROL_TEXT_MAX <= CONTROL_MESSAGE_MAX, "a refusal fits");
static_assert(HEAD_BYTES + 26 + CONTROL_NAME_MAX <= CONTROL_MESSAGE_MAX, "an ask fits");
static_assert(
	HEAD_BYTES + 26 + CONTROL_IDENTITY_BYTES + CONTROL_DESCRIPTOR_MAX <= CONTROL_MESSAGE_MAX,
	"a region fits");

struct cursor {
	uint8_t *at;
	size_t left;
	bool failed;
};

/* ---- writing --------------------------------------------------------------------------------- */

static void put(struct cursor *c, const void *data, size_t len)
{
	assert(len <= c->left);
	memcpy(c->at, data, len);
	c->at += len;
	c->left -= len;
}

static void put16(struct cursor *c, uint16_t value)
{
	value = htole16(value);
	put(c, &value, sizeof(value));
}

static void put32(struct cursor *c, uint32_t value)
{
	value = htole32(value);
	put(c, &value, sizeof(value));
}

static void put64(struct cursor *c, uint64_t value)
{
	value = htole64(value);
	put(c, &value, sizeof(value));
}

static void put_text(struct cursor *c, const char *text)
{
	size_t len = strlen(text);
	put16(c, (uint16_t)len);
	put(c, text, len);
}

void control_refuse(
	struct control_refusal *refusal, enum control_code code, const char *format, ...)
{
	va_list args;

	refusal->code = (uint16_t)code;
	va_start(args, format);
	(void)vsnprintf(refusal->text, sizeof(refusal->text), format, args);
	va_end(args);
	for (char *c = refusal->text; *c; c++) {
		if (*c < ' ' || *c > '~')
			*c = '?';
	}
}

size_t control_greeting_encode(const struct control_greeting *greeting, void *buf)
{
	struct cursor c = { .at = buf, .left = CONTROL_GREETING_MAX };
	bool refused = greeting->kind == CONTROL_TURNED_DOWN;

	put(&c, magic, sizeof(magic));
	put16(&c, CONTROL_VERSION);
	put16(&c, (uint16_t)greeting->kind);
	put16(&c, refused ? greeting->refusal.code : 0);
	put_text(&c, refused ? greeting->refusal.text : "");
	return CONTROL_GREETING_MAX - c.left;
}

static void put_region(struct cursor *c, const struct control_region *region)
{
	put64(c, region->size);
	put64(c, region->offset);
	put64(c, region->length);
	put(c, region->identity, sizeof(region->identity));
	put16(c, region->descriptor_len);
	put(c, region->descriptor, region->descriptor_len);
}

size_t control_encode(const struct control_message *message, void *buf)
{
	struct cursor c = { .at = buf, .left = CONTROL_MESSAGE_MAX };

	put(&c, magic, sizeof(magic));
	put16(&c, CONTROL_VERSION);
	put16(&c, (uint16_t)message->type);
	put32(&c, 0); /* the length, once it is known */

	switch (message->type) {
	case CONTROL_ASK:
		put32(&c, message->ask.digest ? ASK_DIGEST : 0);
		put32(&c, 0);
		put64(&c, message->ask.offset);
		put64(&c, message->ask.length);
		put_text(&c, message->ask.name);
		break;
	case CONTROL_REGION:
		put_region(&c, &message->region);
		break;
	case CONTROL_DIGEST:
		put64(&c, message->digest.offset);
		put64(&c, message->digest.length);
		put(&c, message->digest.sha256, sizeof(message->digest.sha256));
		break;
	case CONTROL_REFUSAL:
		put16(&c, message->refusal.code);
		put_text(&c, message->refusal.text);
		break;
	}

	size_t len = CONTROL_MESSAGE_MAX - c.left;
	struct cursor field = { .at = (uint8_t *)buf + 12, .left = 4 };
	put32(&field, (uint32_t)len);
	return len;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void get(struct cursor *c, void *data, size_t len)
{
	if (c->failed || len > c->left) {
		c->failed = true;
		memset(data, 0, len);
		return;
	}
	memcpy(data, c->at, len);
	c->at += len;
	c->left -= len;
}

static uint16_t get16(struct cursor *c)
{
	uint16_t value;
	get(c, &value, sizeof(value));
	return le16toh(value);
}

static uint32_t get32(struct cursor *c)
{
	uint32_t value;
	get(c, &value, sizeof(value));
	return le32toh(value);
}

static uint64_t get64(struct cursor *c)
{
	uint64_t value;
	get(c, &value, sizeof(value));
	return le64toh(value);
}

/*
 * A counted text into room for max characters and a NUL. It ends up on terminals and in logs: only
 * printable ASCII passes.
 */
static int get_text(struct cursor *c, char *text, size_t max)
{
	size_t len = get16(c);
	if (len > max)
		return CONTROL_LENGTH;
	get(c, text, len);
	if (c->failed)
		return CONTROL_LENGTH;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < ' ' || text[i] > '~')
			return CONTROL_VALUE;
	}
	text[len] = '\0';
	return CONTROL_OK;
}

static int get_refusal(struct cursor *c, struct control_refusal *refusal)
{
	refusal->code = get16(c);
	int error = get_text(c, refusal->text, CONTROL_TEXT_MAX);
	if (error)
		return error;
	return refusal->code == CONTROL_CODE_NONE ? CONTROL_VALUE : CONTROL_OK;
}

/* magic and version, with which both sorts begin */
static int get_head(struct cursor *c)
{
	uint8_t found[sizeof(magic)];

	get(c, found, sizeof(found));
	if (c->failed || memcmp(found, magic, sizeof(magic)) != 0)
		return CONTROL_FOREIGN;
	uint16_t version = get16(c);
	if (c->failed)
		return CONTROL_LENGTH;
	return version == CONTROL_VERSION ? CONTROL_OK : CONTROL_UNSPOKEN;
}

int control_greeting_decode(struct control_greeting *greeting, const void *buf, size_t len)
{
	struct cursor c = { .at = (uint8_t *)buf, .left = len };
	int error = get_head(&c);
	if (error)
		return error;

	uint16_t kind = get16(&c);
	if (c.failed)
		return CONTROL_LENGTH;
	if (kind < CONTROL_REQUEST || kind > CONTROL_TURNED_DOWN)
		return CONTROL_TYPE;

	struct control_refusal refusal = { 0 };
	if (kind == CONTROL_TURNED_DOWN) {
		error = get_refusal(&c, &refusal);
		if (error)
			return error;
	} else {
		uint16_t code = get16(&c);
		uint16_t text_len = get16(&c);
		if (c.failed)
			return CONTROL_LENGTH;
		if (code != 0 || text_len != 0)
			return CONTROL_VALUE;
	}

	greeting->kind = (enum control_kind)kind;
	greeting->refusal = refusal;
	return CONTROL_OK;
}

static int get_ask(struct cursor *c, struct control_ask *ask)
{
	uint32_t flags = get32(c);
	uint32_t reserved = get32(c);
	uint64_t end;

	ask->offset = get64(c);
	ask->length = get64(c);
	int error = get_text(c, ask->name, CONTROL_NAME_MAX);
	if (error)
		return error;
	/* a flag that we do not know would be a wish that we silently do not fulfil */
	if ((flags & ~ASK_DIGEST) || reserved)
		return CONTROL_VALUE;
	if (__builtin_add_overflow(ask->offset, ask->length, &end))
		return CONTROL_VALUE;
	ask->digest = flags & ASK_DIGEST;
	return CONTROL_OK;
}

static int get_region(struct cursor *c, struct control_region *region)
{
	region->size = get64(c);
	region->offset = get64(c);
	region->length = get64(c);
	get(c, region->identity, sizeof(region->identity));
	region->descriptor_len = get16(c);
	if (region->descriptor_len > CONTROL_DESCRIPTOR_MAX)
		return CONTROL_LENGTH;
	get(c, region->descriptor, region->descriptor_len);
	if (c->failed)
		return CONTROL_LENGTH;
	if (region->length == 0 || region->descriptor_len == 0)
		return CONTROL_VALUE;
	if (region->offset >= region->size || region->length > region->size - region->offset)
		return CONTROL_VALUE;
	return CONTROL_OK;
}

static int get_digest(struct cursor *c, struct control_digest *digest)
{
	digest->offset = get64(c);
	digest->length = get64(c);
	get(c, digest->sha256, sizeof(digest->sha256));
	return c->failed ? CONTROL_LENGTH : CONTROL_OK;
}

int control_decode(struct control_message *message, const void *buf, size_t len)
{
	struct cursor c = { .at = (uint8_t *)buf, .left = len };
	int error = get_head(&c);
	if (error)
		return error;

	uint16_t type = get16(&c);
	uint32_t claimed = get32(&c);
	if (c.failed || claimed != len || len > CONTROL_MESSAGE_MAX)
		return CONTROL_LENGTH;

	switch (type) {
	case CONTROL_ASK:
		error = get_ask(&c, &message->ask);
		break;
	case CONTROL_REGION:
		error = get_region(&c, &message->region);
		break;
	case CONTROL_DIGEST:
		error = get_digest(&c, &message->digest);
		break;
	case CONTROL_REFUSAL:
		error = get_refusal(&c, &message->refusal);
		break;
	default:
		return CONTROL_TYPE;
	}
	if (error)
		return error;
	if (c.left > 0)
		return CONTROL_LENGTH;
	message->type = (enum control_type)type;
	return CONTROL_OK;
}

const char *control_strerror(int error)
{
	switch (error) {
	case CONTROL_OK:
		return "nothing wrong";
	case CONTROL_FOREIGN:
		return "it does not speak the protocol of rpma";
	case CONTROL_UNSPOKEN:
		return "it speaks another version of the protocol";
	case CONTROL_LENGTH:
		return "a message is cut off or its lengths are wrong";
	case CONTROL_TYPE:
		return "a message of an unknown kind";
	case CONTROL_VALUE:
		return "a message with a value that is not allowed";
	}
	return "unknown error";
}
