/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * progress.c: what is on the terminal, by its width, the rate and what is left; nothing elsewhere
 *
 * stderr is a terminal of the test's own, and the clock that rates are measured by is, too.
 */

#include <fcntl.h>
#include <pty.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "progress.h"
#include "test.h"

#define SECOND UINT64_C(1000000000)
#define MIB    (UINT64_C(1) << 20)

static uv_loop_t loop;
static struct progress progress;
static uint64_t done_bytes;
static uint64_t clock_ns;
static int terminal; /* its master */
static int real_stderr;

/* stands for libuv's, in what is linked to this program; the timer goes by the real one */
uint64_t uv_hrtime(void)
{
	return clock_ns;
}

static uint64_t done(void *data)
{
	return *(uint64_t *)data;
}

static void terminal_open(unsigned short columns)
{
	struct winsize size = { .ws_row = 25, .ws_col = columns };
	int slave;

	assert_int_equal(openpty(&terminal, &slave, NULL, NULL, &size), 0);
	assert_int_equal(fcntl(terminal, F_SETFL, O_NONBLOCK), 0);
	real_stderr = dup(STDERR_FILENO);
	assert_true(dup2(slave, STDERR_FILENO) >= 0);
	close(slave);
}

static void terminal_close(void)
{
	assert_true(dup2(real_stderr, STDERR_FILENO) >= 0);
	close(real_stderr);
	close(terminal);
}

/* what was written to it since the last call */
static const char *written(void)
{
	static char text[4096];
	ssize_t n = read(terminal, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void begin(unsigned short columns, uint64_t total)
{
	terminal_open(columns);
	assert_int_equal(uv_loop_init(&loop), 0);
	progress_init(&progress, &loop, false);
	done_bytes = 0;
	clock_ns = SECOND;
	progress_start(&progress, "file", total, done, &done_bytes);
}

/* the line that it draws when so much is done after so many seconds */
static const char *drawn(uint64_t bytes, uint64_t seconds)
{
	const char *line;

	done_bytes = bytes;
	clock_ns += seconds * SECOND;
	do {
		uv_timer_again(&progress.timer);
		uv_ref((uv_handle_t *)&progress.timer);
		uv_run(&loop, UV_RUN_ONCE);
		line = written();
	} while (*line == '\0');
	return line;
}

static void end(void)
{
	progress_stop(&progress);
	assert_string_equal(written(), "\r\033[K");
	progress_stop(&progress);
	assert_string_equal(written(), "");
	progress_close(&progress);
	assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(&loop), 0);
	terminal_close();
}

static void line__from_start_to_end(void **state)
{
	(void)state;
	begin(100, 100 * MIB);
	assert_string_equal(drawn(25 * MIB, 5),
		"\rfile [==========>                             ] "
		" 25% 25.0 MiB of 100.0 MiB, 5.0 MiB/s, 0:15 left\033[K");
	/* the clock has not moved: the rate stays */
	assert_non_null(strstr(drawn(25 * MIB, 0), "5.0 MiB/s, 0:15 left"));
	/* a fifth of the difference */
	assert_non_null(
		strstr(drawn(35 * MIB, 1), " 35% 35.0 MiB of 100.0 MiB, 6.0 MiB/s, 0:11 left"));
	assert_non_null(strstr(drawn(100 * MIB, 1), "=] 100% 100.0 MiB of 100.0 MiB"));
	end();
}

static void line__time_left(void **state)
{
	(void)state;
	begin(100, 36000 * MIB);
	assert_non_null(strstr(drawn(0, 1), "0 B/s, --:-- left"));
	end();
	begin(100, 36000 * MIB);
	assert_non_null(strstr(drawn(MIB, 1), "1.0 MiB/s, 9:59:59 left"));
	end();
	begin(100, 400000 * MIB);
	assert_non_null(strstr(drawn(MIB, 1), "1.0 MiB/s, --:-- left"));
	end();
}

/* it never wraps: the bar goes first, then the end of the figures */
static void line__narrow(void **state)
{
	(void)state;
	begin(62, 100 * MIB);
	assert_non_null(strstr(drawn(25 * MIB, 5), "file [=>   ]  25%"));
	end();
	begin(61, 100 * MIB);
	assert_string_equal(
		drawn(25 * MIB, 5), "\r 25% 25.0 MiB of 100.0 MiB, 5.0 MiB/s, 0:15 left\033[K");
	end();
	begin(20, 100 * MIB);
	assert_string_equal(drawn(25 * MIB, 5), "\r 25% 25.0 MiB of 10\033[K");
	end();
}

/* of a terminal that does not tell, and of one that is gone meanwhile */
static void line__width_unknown(void **state)
{
	(void)state;
	begin(0, 100 * MIB);
	const char *line = drawn(25 * MIB, 5);
	assert_int_equal(strlen(line), strlen("\r\033[K") + 79);
	end();

	begin(100, 100 * MIB);
	FILE *file = tmpfile();
	assert_non_null(file);
	int kept = dup(STDERR_FILENO);
	assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
	done_bytes = 25 * MIB;
	while (lseek(fileno(file), 0, SEEK_END) == 0) {
		uv_ref((uv_handle_t *)&progress.timer);
		uv_run(&loop, UV_RUN_ONCE);
	}
	assert_int_equal(lseek(fileno(file), 0, SEEK_END), strlen("\r\033[K") + 79);
	assert_true(dup2(kept, STDERR_FILENO) >= 0);
	close(kept);
	(void)fclose(file);
	end();
}

static void start__quiet_or_no_terminal(void **state)
{
	(void)state;
	for (int quiet = 0; quiet < 2; quiet++) {
		terminal_open(80);
		if (!quiet) {
			int null = open("/dev/null", O_WRONLY);
			assert_true(dup2(null, STDERR_FILENO) >= 0);
			close(null);
		}
		assert_int_equal(uv_loop_init(&loop), 0);
		progress_init(&progress, &loop, quiet);
		progress_start(&progress, "file", MIB, done, &done_bytes);
		assert_false(uv_is_active((uv_handle_t *)&progress.timer));
		progress_stop(&progress);
		assert_string_equal(written(), "");
		progress_close(&progress);
		assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
		assert_int_equal(uv_loop_close(&loop), 0);
		terminal_close();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(line__from_start_to_end),
		cmocka_unit_test(line__time_left),
		cmocka_unit_test(line__narrow),
		cmocka_unit_test(line__width_unknown),
		cmocka_unit_test(start__quiet_or_no_terminal),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
