/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* strict.c - records of the program's objects, and reports of what it does wrong with them */

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "device.h"
#include "fault.h"
#include "list.h"

#define BUCKETS    4096
#define DEAD_MAX   8192 /* that keep their memory */
#define PATIENCE_S 1 /* for an acknowledgement, while something is being destroyed */
#define TEXT_MAX   1024

struct record {
	struct record *next; /* in its bucket */
	struct list node; /* of the dead, the oldest first */
	enum sv_kind kind;
	const void *object;
	const void *born;
	const void *died; /* NULL: it lives */
	bool foreign; /* the parent's */
	void *memory; /* of the dead */
};

static const char *const kind_names[] = {
	[SV_CONTEXT] = "context",
	[SV_PD] = "protection domain",
	[SV_MR] = "memory region",
	[SV_COMP_CHANNEL] = "completion channel",
	[SV_CQ] = "completion queue",
	[SV_QP] = "queue pair",
	[SV_SRQ] = "shared receive queue",
	[SV_AH] = "address handle",
	[SV_EVENT_CHANNEL] = "event channel",
	[SV_ID] = "id",
	[SV_CM_EVENT] = "event",
};

SV_EXPORT int softverbs_device_reports(void);

bool sv_strict;

static bool abort_at_once;
static int reports;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct record *buckets[BUCKETS];
static struct list dead = { &dead, &dead };
static unsigned dead_count;
static uintptr_t own_from;
static uintptr_t own_to;
static __thread const void *current_site;
static __thread bool impatient;

static bool is_own(const void *site)
{
	return (uintptr_t)site >= own_from && (uintptr_t)site < own_to;
}

/* file(symbol+offset) [file offset]: what addr2line(1) takes, without the last part for people */
static void describe(const void *site, char *text, size_t size)
{
	Dl_info info = { 0 };
	const char *name;

	if (site != NULL)
		site = (const char *)site - 1; /* of the call, not of what follows it */
	if (site == NULL || dladdr(site, &info) == 0 || info.dli_fname == NULL) {
		snprintf(text, size, "%p", site);
		return;
	}
	name = strrchr(info.dli_fname, '/');
	name = name != NULL ? name + 1 : info.dli_fname;
	if (info.dli_sname != NULL)
		snprintf(text, size, "%s(%s+0x%lx) [0x%lx]", name, info.dli_sname,
			(unsigned long)((uintptr_t)site - (uintptr_t)info.dli_saddr),
			(unsigned long)((uintptr_t)site - (uintptr_t)info.dli_fbase));
	else
		snprintf(text, size, "%s [0x%lx]", name,
			(unsigned long)((uintptr_t)site - (uintptr_t)info.dli_fbase));
}

/* one write: reports of several threads, or processes, do not mix */
static void report(const void *site, const char *what)
{
	char where[TEXT_MAX / 2];
	char line[TEXT_MAX + TEXT_MAX / 2];
	int n;

	describe(site, where, sizeof(where));
	n = snprintf(line, sizeof(line), "softverbs: %s: %s\n", where, what);
	__atomic_add_fetch(&reports, 1, __ATOMIC_RELAXED);
	if (n > 0)
		(void)!write(
			STDERR_FILENO, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line));
}

void sv_misuse(const void *site, const char *format, ...)
{
	char text[TEXT_MAX];
	va_list args;

	if (!sv_strict)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	report(site == NULL || is_own(site) ? current_site : site, text);
	if (abort_at_once)
		abort();
}

void sv_strict_enter(const void *site)
{
	if (is_own(site))
		return;
	current_site = site;
	impatient = false;
}

const void *sv_strict_site(void)
{
	return current_site;
}

static struct record **find(const void *object)
{
	struct record **at = &buckets[(uintptr_t)object / 16 * 2654435761u % BUCKETS];

	while (*at != NULL && (*at)->object != object)
		at = &(*at)->next;
	return at;
}

/* the oldest of the dead is forgotten, and its memory is free for others */
static void bury_oldest(void)
{
	struct record *record = list_first(&dead, struct record, node);

	*find(record->object) = record->next;
	list_remove(&record->node);
	dead_count--;
	free(record->memory);
	free(record);
}

void sv_strict_born(enum sv_kind kind, const void *object)
{
	struct record **at;

	pthread_mutex_lock(&lock);
	at = find(object);
	if (*at == NULL) {
		*at = calloc(1, sizeof(**at));
		if (*at != NULL)
			list_init(&(*at)->node);
	}
	if (*at != NULL) {
		(*at)->kind = kind;
		(*at)->object = object;
		(*at)->born = current_site;
		(*at)->foreign = false;
	}
	pthread_mutex_unlock(&lock);
}

void sv_strict_gone(const void *object, void *memory)
{
	struct record *record;

	pthread_mutex_lock(&lock);
	record = *find(object);
	if (record != NULL) {
		record->died = current_site != NULL ? current_site : &sv_strict;
		record->memory = memory;
		list_push(&dead, &record->node);
		if (++dead_count > DEAD_MAX)
			bury_oldest();
	}
	pthread_mutex_unlock(&lock);
	if (record == NULL)
		free(memory); /* the program never saw it */
}

bool sv_strict_dead(enum sv_kind kind, const void *object, const char *call)
{
	struct record *record;
	const void *died;
	char where[TEXT_MAX / 2];

	pthread_mutex_lock(&lock);
	record = *find(object);
	died = record != NULL ? record->died : NULL;
	pthread_mutex_unlock(&lock);
	if (died == NULL)
		return false;
	describe(died, where, sizeof(where));
	sv_misuse(NULL, "%s%s on a%s %s that has gone at %s",
		strncmp(call, "sv_", 3) == 0 ? "ibv_" : "",
		strncmp(call, "sv_", 3) == 0 ? call + 3 : call,
		strchr("aei", *kind_names[kind]) != NULL ? "n" : "", kind_names[kind], where);
	errno = EINVAL;
	return true;
}

/* waits for sv_device.acked, and tells once a call when it takes long */
bool sv_strict_patient(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_S;
	if (pthread_cond_timedwait(&sv_device.acked, &sv_device.lock, &until) == 0 || impatient)
		return true;
	if (sv_faults_on && sv_fault_holds((enum sv_hold) ~0u))
		return true;
	impatient = true;
	sv_misuse(NULL, "waits for events to be acknowledged");
	return false;
}

void sv_strict_forget(void)
{
	pthread_mutex_init(&lock, NULL);
	for (int i = 0; i < BUCKETS; i++)
		for (struct record *record = buckets[i]; record != NULL; record = record->next)
			record->foreign = true;
}

int softverbs_device_reports(void)
{
	return __atomic_load_n(&reports, __ATOMIC_RELAXED);
}

/* our own code, from the first segment to the last */
static int find_own(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t from = UINTPTR_MAX;
	uintptr_t to = 0;

	(void)size;
	(void)arg;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD)
			continue;
		if (info->dlpi_addr + p->p_vaddr < from)
			from = info->dlpi_addr + p->p_vaddr;
		if (info->dlpi_addr + p->p_vaddr + p->p_memsz > to)
			to = info->dlpi_addr + p->p_vaddr + p->p_memsz;
	}
	if ((uintptr_t)&sv_strict < from || (uintptr_t)&sv_strict >= to)
		return 0;
	own_from = from;
	own_to = to;
	return 1;
}

__attribute__((constructor)) static void start(void)
{
	const char *text = getenv("SOFTVERBS_STRICT");

	if (text == NULL || *text == '\0' || *text == '0')
		return;
	dl_iterate_phdr(find_own, NULL);
	abort_at_once = strcmp(text, "abort") == 0;
	sv_strict = true;
}

/* what was made inside of another object goes with that one, and is not told of again */
static bool is_leak(const struct record *record)
{
	return record->died == NULL && !record->foreign && record->born != NULL &&
	       !is_own(record->born);
}

__attribute__((destructor)) static void tell_leaks(void)
{
	char text[64];
	int found = 0;

	if (!sv_strict)
		return;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < BUCKETS; i++)
		for (struct record *record = buckets[i]; record != NULL; record = record->next) {
			if (!is_leak(record))
				continue;
			snprintf(text, sizeof(text), "the %s made here is left at exit",
				kind_names[record->kind]);
			report(record->born, text);
			found++;
		}
	pthread_mutex_unlock(&lock);
	if (found > 0 && abort_at_once)
		abort();
}
