/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * progress.c - the progress line
 */

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "progress.h"
#include "size.h"

#define INTERVAL_MS 200
#define BAR_MAX     40

/* how much of the new sample goes into the rate: it follows within some two seconds */
#define SMOOTHING 0.2

static unsigned columns(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || size.ws_col == 0)
		return 80;
	return size.ws_col;
}

static void measure(struct progress *p, uint64_t done)
{
	uint64_t now_ns = uv_hrtime();

	if (now_ns > p->last_ns) {
		double rate = (double)(done - p->last_done) * 1e9 / (double)(now_ns - p->last_ns);
		p->rate = p->rate < 0 ? rate : p->rate + SMOOTHING * (rate - p->rate);
	}
	p->last_ns = now_ns;
	p->last_done = done;
}

static void format_left(const struct progress *p, uint64_t done, char *text, size_t size)
{
	double left_s = p->rate > 0 ? ceil((double)(p->total - done) / p->rate) : INFINITY;

	if (left_s >= 360000) { /* stalled, or as good as that */
		(void)snprintf(text, size, "--:--");
		return;
	}
	unsigned s = (unsigned)left_s;
	if (s >= 3600)
		(void)snprintf(text, size, "%u:%02u:%02u", s / 3600, s / 60 % 60, s % 60);
	else
		(void)snprintf(text, size, "%u:%02u", s / 60, s % 60);
}

static void draw(struct progress *p)
{
	char figures[96], done_text[SIZE_TEXT], total_text[SIZE_TEXT], rate_text[SIZE_TEXT];
	char left_text[24], bar[BAR_MAX + 1];
	uint64_t done = p->done(p->data);

	measure(p, done);
	format_left(p, done, left_text, sizeof(left_text));
	double share = (double)done / (double)p->total;
	int len = snprintf(figures, sizeof(figures), "%3.0f%% %s of %s, %s/s, %s left",
		floor(share * 100), size_format(done, done_text), size_format(p->total, total_text),
		size_format(p->rate > 0 ? (uint64_t)p->rate : 0, rate_text), left_text);

	/* the bar takes what is left of the line, which must not wrap */
	int room = (int)columns() - 1 - len - (int)strlen(p->label) - 4;
	if (room < 5) {
		(void)fprintf(stderr, "\r%.*s\033[K", (int)columns() - 1, figures);
		return;
	}
	unsigned width = room < BAR_MAX ? (unsigned)room : BAR_MAX;
	unsigned full = (unsigned)(share * width);
	memset(bar, ' ', width);
	memset(bar, '=', full);
	if (full < width)
		bar[full] = '>';
	bar[width] = '\0';
	(void)fprintf(stderr, "\r%s [%s] %s\033[K", p->label, bar, figures);
}

static void on_timer(uv_timer_t *timer)
{
	draw(timer->data);
}

void progress_init(struct progress *p, uv_loop_t *loop, bool quiet)
{
	p->active = !quiet && isatty(STDERR_FILENO);
	int ret = uv_timer_init(loop, &p->timer);
	assert(ret == 0); /* it only fills the struct */
	(void)ret;
	uv_unref((uv_handle_t *)&p->timer);
	p->timer.data = p;
}

void progress_close(struct progress *p)
{
	uv_close((uv_handle_t *)&p->timer, NULL);
}

void progress_start(struct progress *p, const char *label, uint64_t total,
	uint64_t (*done)(void *data), void *data)
{
	if (!p->active)
		return;
	p->label = label;
	p->total = total;
	p->done = done;
	p->data = data;
	p->rate = -1;
	p->last_ns = uv_hrtime();
	p->last_done = done(data);
	int ret = uv_timer_start(&p->timer, on_timer, INTERVAL_MS, INTERVAL_MS);
	assert(ret == 0); /* fails on a closing timer only */
	(void)ret;
}

void progress_stop(struct progress *p)
{
	if (!uv_is_active((uv_handle_t *)&p->timer))
		return;
	(void)uv_timer_stop(&p->timer);
	(void)fputs("\r\033[K", stderr);
}
