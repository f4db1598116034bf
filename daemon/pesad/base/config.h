/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The configuration file: what pesad samples, keeps, sends and answers.
 *
 *     # a comment, also after a value
 *     [store]
 *     interval = 60s
 *     size = 1G
 *
 * Lines are `key = value` below a `[section]`.  Every key has a default, so that an empty file is a
 * configuration.  Sizes take B, K, M, G (powers of 1024), times ms, s, m, h, d; lists are separated
 * by spaces.  A key may be given once.  What a line gets wrong is an error that names the file, the
 * line, and what is allowed; after the lines it is checked that the values go together.  The keys
 * are one table (config_keys.c), which pesad.conf(5) describes in the same order; the struct below
 * has one member for each.
 *
 * A file is read into a new struct, so that one that is wrong leaves the old one in force.
 */
#ifndef DAEMON_PESAD_BASE_CONFIG_H
#define DAEMON_PESAD_BASE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/error.h"

#define PESAD_CONFIG_FILE "/etc/pesad.conf"

/* The words of a list, each terminated; owned by the configuration. */
struct pesad_list {
	char **words;
	size_t count;
};

enum pesad_call_graph { PESAD_CALL_GRAPH_NONE, PESAD_CALL_GRAPH_FRAME_POINTER };

/* The kind of server at `push.url`; the push worker knows the paths. */
enum pesad_store_kind {
	PESAD_STORE_PYROSCOPE,
	PESAD_STORE_PARCA,
	PESAD_STORE_ALLOY,
	PESAD_STORE_PYROSCOPE_PUSH,
	PESAD_STORE_CLICKHOUSE,
};

enum pesad_log_level { PESAD_LOG_ERROR, PESAD_LOG_WARNING, PESAD_LOG_INFO, PESAD_LOG_DEBUG };

/* The best source of samples that works (daemon/record/source.h). */
#define PESAD_EVENT_BEST "best"

struct pesad_config {
	struct {
		uint64_t log;	   /* enum pesad_log_level: lines of this level and above */
		char *user;	   /* user to become when started as root */
		uint64_t watchdog; /* ns without progress after which a worker is killed */
	} daemon;
	struct {
		char *event;	     /* as for `pesa record -e`, or PESAD_EVENT_BEST */
		char *event_files;   /* directory of the processors' event files */
		uint64_t frequency;  /* samples per second and CPU; unused with a period */
		uint64_t period;     /* in the event's unit; 0: by frequency */
		bool jitter;	     /* vary the period if the PMU does not vary its intervals */
		char *cpus;	     /* "0-3,8"; "": all, including later ones */
		uint64_t ring;	     /* bytes per CPU, a power of two */
		uint64_t call_graph; /* enum pesad_call_graph */
		bool cgroups;	     /* samples have their control group */
	} collect;
	struct {
		bool enable;	  /* count in the kernel; false: read rings */
		uint64_t entries; /* (process, record) pairs per CPU in the kernel */
		uint64_t flush;	  /* ns; longest time between two drains of the map */
	} bpf;
	struct { /* an empty list matches all; a sample has to match every list */
		struct pesad_list cgroup;   /* paths below /sys/fs/cgroup, including everything
					     * below them */
		struct pesad_list uid, pid; /* decimal numbers, validated */
		struct pesad_list comm;	    /* thread names, at most 15 bytes */
	} filter;
	struct {
		char *directory;
		uint64_t interval;    /* ns of one file */
		uint64_t size, age;   /* total bytes of all files; ns; 0: no limit */
		uint64_t compression; /* zstd level; 0: none */
	} store;
	struct {
		char *url;     /* "": push is disabled.  http or https; a path only if the store is
			    * below one */
		uint64_t kind; /* enum pesad_store_kind */
		char *application;	  /* application name of the profiles */
		struct pesad_list labels; /* NAME=VALUE */
		char *tenant;		  /* for a multi-tenant store; "": none */
		char *token_file;	  /* file whose only line is for "Authorization: Bearer";
					   * "": none */
		char *password_file;	  /* file with USER:PASSWORD for "Authorization: Basic";
					   * "": none */
		char *authority;	  /* CA certificates for servers; "": the system's */
		char *certificate, *key;  /* client certificate; "": none */
		bool verify;		  /* verify the server's certificate and name */
		bool symbols;		  /* send functions and lines; false: addresses and build
					  * ids */
		uint64_t timeout;	  /* ns, timeout of a request */
		uint64_t retry_least, retry_most; /* ns between attempts: doubled from the
						   * minimum to the maximum */
		char *spool;			  /* directory of profiles that wait to be sent */
		uint64_t spool_size, spool_age;	  /* bytes, ns: the oldest is dropped first */
		uint64_t memory;		  /* memory limit of the worker in bytes */
	} push;
	struct {
		char *listen;		 /* "127.0.0.1:9397", "[::1]:9397"; "": no port */
		char *socket;		 /* path of a unix socket; "": none */
		char *token_file;	 /* required of every request through the port; "": none */
		char *certificate, *key; /* TLS; "": plain HTTP */
		char *authority;	 /* CA certificates for clients, then required; "": none */
		bool open;		 /* answer all requests to the port */
		bool kernel_addresses;	 /* show them to all clients, not only those that can read
				        * kallsyms */
		uint64_t connections;	 /* at once */
		uint64_t profile_most;	 /* ns, longest profile that can be requested */
		uint64_t page_most;	 /* ns, what making a page may take */
		uint64_t memory;	 /* memory limit of the worker in bytes */
	} http;
};

/*
 * Read a configuration.  The first error is returned as "FILE:LINE: ..." and leaves *config
 * unchanged. For pesad_config_parse() `path` is used in messages only.  Without a path the file is
 * PESAD_CONFIG_FILE; if that does not exist, every key has its default.
 */
struct pesa_error *pesad_config_read(const char *path, struct pesad_config **config);
struct pesa_error *pesad_config_parse(const char *path, const char *text, size_t size,
				      struct pesad_config **config);
void pesad_config_free(struct pesad_config *config);
/*
 * Report every error of a configuration file, in the order of its lines, then what does not go
 * together.  *count: how many.  Returns an error if the file cannot be read.
 */
struct pesa_error *pesad_config_check(const char *path,
				      void (*report)(void *context, const char *message),
				      void *context, size_t *count);

/* Split "ADDRESS:PORT" or "[ADDRESS]:PORT"; sets whether the address is a loopback address. */
bool pesad_address_split(const char *text, char *address, size_t room, uint16_t *port,
			 bool *loopback);

/* ---- The table of keys (config_keys.c) ----------------------------------------------------- */

enum pesad_value {		  /* the type of the member */
		   PESAD_TEXT,	  /* char * */
		   PESAD_PATH,	  /* char *, absolute or empty */
		   PESAD_BOOL,	  /* bool: yes, no */
		   PESAD_NUMBER,  /* uint64_t */
		   PESAD_SIZE,	  /* uint64_t, bytes */
		   PESAD_TIME,	  /* uint64_t, ns */
		   PESAD_CHOICE,  /* uint64_t: index into `choices` */
		   PESAD_WORDS,	  /* struct pesad_list */
		   PESAD_NUMBERS, /* struct pesad_list of numbers up to `most` */
};

struct pesad_key {
	const char *section, *name;
	enum pesad_value value;
	size_t offset;		    /* in struct pesad_config */
	const char *otherwise;	    /* the default, as written in a file */
	uint64_t least, most;	    /* range of numbers, sizes and times */
	const char *const *choices; /* NULL-terminated */
};

extern const struct pesad_key pesad_keys[];
extern const size_t pesad_key_count;

#endif
