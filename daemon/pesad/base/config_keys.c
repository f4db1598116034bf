// SPDX-License-Identifier: GPL-2.0-or-later
/* The keys of the configuration file, in the order of pesad.conf(5).  See config.h. */
#include <limits.h>

#include "daemon/pesad/base/config.h"

#define MEMBER(member)	  offsetof(struct pesad_config, member)
#define MILLISECOND	  UINT64_C(1000000)
#define SECOND		  (1000 * MILLISECOND)
#define DAY		  (86400 * SECOND)
#define KIB		  UINT64_C(1024)
#define MIB		  (1024 * KIB)
#define GIB		  (1024 * MIB)
#define TEXT(what, plain) PESAD_TEXT, MEMBER(what), plain, 0, 0, NULL
#define PATH(what, plain) PESAD_PATH, MEMBER(what), plain, 0, 0, NULL
#define BOOL(what, plain) PESAD_BOOL, MEMBER(what), plain, 0, 0, NULL
#define LIST(what)	  PESAD_WORDS, MEMBER(what), "", 0, 0, NULL

static const char *const log_levels[] = {"error", "warning", "info", "debug", NULL};
static const char *const call_graphs[] = {"none", "fp", NULL};
static const char *const store_kinds[] = {"pyroscope",	    "parca",	  "alloy",
					  "pyroscope-push", "clickhouse", NULL};

const struct pesad_key pesad_keys[] = {
	{"daemon", "log", PESAD_CHOICE, MEMBER(daemon.log), "info", 0, 0, log_levels},
	{"daemon", "user", TEXT(daemon.user, "pesad")},
	{"daemon", "watchdog", PESAD_TIME, MEMBER(daemon.watchdog), "5m", SECOND, DAY, NULL},
	{"collect", "event", TEXT(collect.event, PESAD_EVENT_BEST)},
	{"collect", "event-files", PATH(collect.event_files, PESA_DATADIR "/events")},
	{"collect", "frequency", PESAD_NUMBER, MEMBER(collect.frequency), "100", 1, 1000000, NULL},
	{"collect", "period", PESAD_NUMBER, MEMBER(collect.period), "0", 0, INT64_MAX, NULL},
	{"collect", "jitter", BOOL(collect.jitter, "yes")},
	{"collect", "cpus", TEXT(collect.cpus, "")},
	{"collect", "ring", PESAD_SIZE, MEMBER(collect.ring), "512K", 4 * KIB, GIB, NULL},
	{"collect", "cgroups", BOOL(collect.cgroups, "no")},
	{"collect", "call-graph", PESAD_CHOICE, MEMBER(collect.call_graph), "none", 0, 0,
	 call_graphs},
	{"bpf", "enable", BOOL(bpf.enable, "yes")},
	{"bpf", "entries", PESAD_NUMBER, MEMBER(bpf.entries), "8192", 16, 1 << 20, NULL},
	{"bpf", "flush", PESAD_TIME, MEMBER(bpf.flush), "10s", 100 * MILLISECOND, DAY, NULL},
	{"filter", "cgroup", LIST(filter.cgroup)},
	{"filter", "uid", PESAD_NUMBERS, MEMBER(filter.uid), "", 0, UINT32_MAX - 1, NULL},
	{"filter", "pid", PESAD_NUMBERS, MEMBER(filter.pid), "", 1, INT32_MAX, NULL},
	{"filter", "comm", LIST(filter.comm)},
	{"store", "directory", PATH(store.directory, "/var/lib/pesa")},
	{"store", "interval", PESAD_TIME, MEMBER(store.interval), "60s", SECOND, DAY, NULL},
	{"store", "size", PESAD_SIZE, MEMBER(store.size), "1G", 0, INT64_MAX, NULL},
	{"store", "age", PESAD_TIME, MEMBER(store.age), "7d", 0, 36500 * DAY, NULL},
	{"store", "compression", PESAD_NUMBER, MEMBER(store.compression), "3", 0, 19, NULL},
	{"push", "url", TEXT(push.url, "")},
	{"push", "kind", PESAD_CHOICE, MEMBER(push.kind), "pyroscope", 0, 0, store_kinds},
	{"push", "application", TEXT(push.application, "pesad")},
	{"push", "labels", LIST(push.labels)},
	{"push", "tenant", TEXT(push.tenant, "")},
	{"push", "token-file", PATH(push.token_file, "")},
	{"push", "password-file", PATH(push.password_file, "")},
	{"push", "authority", PATH(push.authority, "")},
	{"push", "certificate", PATH(push.certificate, "")},
	{"push", "key", PATH(push.key, "")},
	{"push", "verify", BOOL(push.verify, "yes")},
	{"push", "symbols", BOOL(push.symbols, "yes")},
	{"push", "timeout", PESAD_TIME, MEMBER(push.timeout), "10s", 100 * MILLISECOND,
	 600 * SECOND, NULL},
	{"push", "retry-least", PESAD_TIME, MEMBER(push.retry_least), "1s", 10 * MILLISECOND, DAY,
	 NULL},
	{"push", "retry-most", PESAD_TIME, MEMBER(push.retry_most), "5m", 10 * MILLISECOND, DAY,
	 NULL},
	{"push", "spool", PATH(push.spool, "/var/lib/pesa/spool")},
	{"push", "spool-size", PESAD_SIZE, MEMBER(push.spool_size), "64M", KIB, INT64_MAX, NULL},
	{"push", "spool-age", PESAD_TIME, MEMBER(push.spool_age), "1d", SECOND, 36500 * DAY, NULL},
	{"push", "memory", PESAD_SIZE, MEMBER(push.memory), "1G", 16 * MIB, INT64_MAX, NULL},
	{"http", "listen", TEXT(http.listen, "")},
	{"http", "socket", PATH(http.socket, "/run/pesa/pesad.socket")},
	{"http", "token-file", PATH(http.token_file, "")},
	{"http", "certificate", PATH(http.certificate, "")},
	{"http", "key", PATH(http.key, "")},
	{"http", "authority", PATH(http.authority, "")},
	{"http", "open", BOOL(http.open, "no")},
	{"http", "kernel-addresses", BOOL(http.kernel_addresses, "no")},
	{"http", "connections", PESAD_NUMBER, MEMBER(http.connections), "128", 1, 65536, NULL},
	{"http", "profile-most", PESAD_TIME, MEMBER(http.profile_most), "5m", SECOND, DAY, NULL},
	{"http", "page-most", PESAD_TIME, MEMBER(http.page_most), "1m", SECOND, DAY, NULL},
	{"http", "memory", PESAD_SIZE, MEMBER(http.memory), "1G", 16 * MIB, INT64_MAX, NULL},
};

const size_t pesad_key_count = sizeof(pesad_keys) / sizeof(pesad_keys[0]);
