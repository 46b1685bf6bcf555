/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * random.c - whatever the offsets, lengths, addresses and arrays: the bytes are right
 *
 * Proven: 1,500 writes, up to eight at a time, direct and buffered, against a copy in memory; the
 * file is then read back by us and by read(2). The seed is printed, and taken from SEED.
 */

#include "real.h"

#include <sys/uio.h>

#define FILE_SIZE ((size_t)1 << 20)
#define LANES     8
#define LANE      (FILE_SIZE / LANES)
#define ROUNDS    1500

static struct turn turn;
static unsigned seed;
static uint8_t shadow[FILE_SIZE];
static char *memory;

static unsigned roll(unsigned n)
{
	return (unsigned)rand_r(&seed) % n;
}

/* a write at a time in a part of the file of its own; pages are shared where lanes meet */
struct lane {
	rpma_uv_op_t op;
	uv_buf_t bufs[4];
	unsigned n;
	size_t base, off, len;
	char *memory;
};

static struct lane lanes[LANES];
static rpma_uv_file_t *file;
static unsigned rounds, running;
static size_t file_end;

static void lane_done(rpma_uv_future_t *f, int status);

static size_t somewhere(size_t n)
{
	static const size_t units[] = { 1, 512, 4096 };
	size_t unit = units[roll(3)];

	return roll((unsigned)n) / unit * unit;
}

static void lane_next(struct lane *lane)
{
	size_t at = somewhere(4096), used = 0;

	if (rounds == ROUNDS)
		return;
	rounds++;
	running++;
	lane->off = lane->base + somewhere(LANE - 1);
	lane->len = somewhere(40000) + 1;
	if (roll(2))
		lane->len = (lane->len + 4095) / 4096 * 4096;
	if (lane->len > lane->base + LANE - lane->off)
		lane->len = lane->base + LANE - lane->off;
	for (size_t i = 0; i < lane->len; i++)
		lane->memory[at + i] = (char)roll(256);
	lane->n = 1 + roll(4);
	for (unsigned i = 0; i < lane->n; i++) {
		size_t part = i + 1 == lane->n ? lane->len - used
					       : roll((unsigned)(lane->len - used + 1));

		lane->bufs[i] = uv_buf_init(lane->memory + at + used, (unsigned)part);
		used += part;
	}
	memcpy(shadow + lane->off, lane->memory + at, lane->len);
	if (lane->off + lane->len > file_end)
		file_end = lane->off + lane->len;
	rpma_uv_then(rpma_uv_file_write(file, &lane->op, lane->bufs, lane->n, (int64_t)lane->off,
			     roll(20) == 0 ? RPMA_UV_FILE_DSYNC : 0),
		lane_done, lane);
	if (roll(30) == 0)
		rpma_uv_release(rpma_uv_file_sync(file, NULL));
}

static void lane_done(rpma_uv_future_t *f, int status)
{
	struct lane *lane = f->data;

	assert_int_equal(status, 0);
	assert_int_equal(f->result, (int64_t)lane->len);
	running--;
	lane_next(lane);
}

static void read_back(void)
{
	static char back[FILE_SIZE + 8192];

	for (int i = 0; i < 100; i++) {
		size_t off = somewhere(FILE_SIZE), len = somewhere(100000) + 1;
		size_t there = off < file_end ? file_end - off : 0;
		uv_buf_t bufs[2];
		int64_t result;
		size_t first = roll((unsigned)len);

		bufs[0] = uv_buf_init(back, (unsigned)first);
		bufs[1] = uv_buf_init(back + first, (unsigned)(len - first));
		assert_int_equal(rpma_uv_wait(rpma_uv_file_read(file, NULL, bufs, 2, (int64_t)off),
					 TURN_LONG_MS, &result),
			0);
		assert_int_equal(result, len < there ? len : there);
		assert_memory_equal(back, shadow + off, (size_t)result);
	}
}

static void random_with(unsigned flags)
{
	static char back[FILE_SIZE];
	struct stat st;
	int fd;

	turn_open(&turn, NULL);
	memset(shadow, 0, sizeof(shadow));
	rounds = running = 0;
	file_end = 0;
	file = real_open(&turn, "random", O_CREAT | O_TRUNC | O_RDWR, flags);
	for (size_t i = 0; i < LANES; i++) {
		lanes[i].base = i * LANE;
		lanes[i].memory = memory + i * 65536;
		lane_next(&lanes[i]);
	}
	while (running > 0)
		uv_run(&turn.loop, UV_RUN_ONCE);
	assert_int_equal(turn_wait(rpma_uv_file_sync(file, NULL)), 0);
	read_back();
	real_close(&turn, file);
	fd = open(turn_path("random"), O_RDONLY | O_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, file_end);
	assert_int_equal(read(fd, back, sizeof(back)), file_end);
	assert_memory_equal(back, shadow, file_end);
	close(fd);
	turn_close(&turn);
}

static void random__buffered(void **state)
{
	(void)state;
	random_with(0);
}

static void random__direct(void **state)
{
	(void)state;
	random_with(RPMA_UV_FILE_DIRECT);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(random__buffered),
		cmocka_unit_test(random__direct) };
	const char *given = getenv("SEED");

	seed = given != NULL ? (unsigned)atoi(given) : (unsigned)getpid();
	printf("SEED=%u\n", seed);
	if (posix_memalign((void **)&memory, 4096, LANES * 65536))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
