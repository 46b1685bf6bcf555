/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * softverbs.h - orders to the software RDMA device, from the program that runs on it
 *
 * For a program that is run under softverbs-run. Nothing is linked: the calls are looked up in the object
 * that is preloaded, and fail without it. What they take as text is described in softverbs(7).
 *
 * Any thread may call any of them at any time, except from a signal handler.
 */

#ifndef SOFTVERBS_CONTROL_H
#define SOFTVERBS_CONTROL_H

#include <dlfcn.h>

/* an exported function of the preloaded object, NULL without it; for the calls below */
static inline void *softverbs_symbol(const char *name)
{
	return dlsym(RTLD_DEFAULT, name);
}

/* is there such an object? */
static inline int softverbs_is_here(void)
{
	return softverbs_symbol("softverbs_device_faults") != 0;
}

/*
 * softverbs_faults - give orders, as SOFTVERBS_FAULTS does
 *
 * Orders are added to those in force. NULL withdraws all of them: what is withheld is released, and
 * faults that have happened stay happened.
 *
 * Returns 0; or EINVAL when one of them is not understood, ENOSPC when there are too many: none is in
 * force then; -1: not on softverbs.
 */
static inline int softverbs_faults(const char *orders)
{
	int (*call)(const char *);

	*(void **)&call = softverbs_symbol("softverbs_device_faults");
	return call != 0 ? call(orders) : -1;
}

/*
 * softverbs_release - let answers go that are withheld, and withhold no more of them
 *
 * what: "resolver", "peer", "destroy", "registration", several of them with commas, or "all".
 *
 * Returns the number of answers that were held; -1: not understood, or not on softverbs.
 */
static inline int softverbs_release(const char *what)
{
	int (*call)(const char *);

	*(void **)&call = softverbs_symbol("softverbs_device_release");
	return call != 0 ? call(what) : -1;
}

/* softverbs_withheld - the number of answers that are held now; -1 as above */
static inline int softverbs_withheld(const char *what)
{
	int (*call)(const char *);

	*(void **)&call = softverbs_symbol("softverbs_device_withheld");
	return call != 0 ? call(what) : -1;
}

/* softverbs_reports - the cases of misuse that strict mode has reported so far; -1: not on softverbs */
static inline int softverbs_reports(void)
{
	int (*call)(void);

	*(void **)&call = softverbs_symbol("softverbs_device_reports");
	return call != 0 ? call() : -1;
}

#endif
