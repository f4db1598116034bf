/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The configuration file: what pesad samples, keeps, sends and answers.
 *
 *     # a comment, also behind a value
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

/* Words of a list, each terminated; owned by the configuration. */
struct pesad_list {
	char **words;
	size_t count;
};

enum pesad_call_graph { PESAD_CALL_GRAPH_NONE, PESAD_CALL_GRAPH_FRAME_POINTER };

/* What the server at `push.url` understands; its paths are the worker's to know. */
enum pesad_store_kind {
	PESAD_STORE_PYROSCOPE,
	PESAD_STORE_PARCA,
	PESAD_STORE_ALLOY,
	PESAD_STORE_PYROSCOPE_PUSH,
};

enum pesad_log_level { PESAD_LOG_ERROR, PESAD_LOG_WARNING, PESAD_LOG_INFO, PESAD_LOG_DEBUG };

struct pesad_config {
	struct {
		uint64_t log;	   /* enum pesad_log_level: lines of this level and above */
		char *user;	   /* to become when started as root */
		uint64_t watchdog; /* ns without progress, after which a worker is ended */
	} daemon;
	struct {
		char *event;	     /* as `pesa record -e` */
		uint64_t frequency;  /* samples a second and CPU; not used with a period */
		uint64_t period;     /* of the event's units; 0: by frequency */
		bool jitter;	     /* where the PMU does not vary its intervals itself */
		char *cpus;	     /* "0-3,8"; "": all, and those that come */
		uint64_t ring;	     /* bytes for each CPU, a power of two */
		uint64_t call_graph; /* enum pesad_call_graph */
	} collect;
	struct {
		bool enable;	  /* count in the kernel; false: read rings */
		uint64_t entries; /* (process, record) pairs of a CPU that the kernel holds */
		uint64_t flush;	  /* ns: the map is emptied at least so often */
	} bpf;
	struct { /* an empty list: all.  A sample is taken when every list has it */
		struct pesad_list cgroup;   /* paths below /sys/fs/cgroup, with all below them */
		struct pesad_list uid, pid; /* decimal numbers, checked */
		struct pesad_list comm;	    /* names of threads, 15 bytes at most */
	} filter;
	struct {
		char *directory;
		uint64_t interval;    /* ns of one file */
		uint64_t size, age;   /* bytes of all files; ns; 0: no limit */
		uint64_t compression; /* zstd level; 0: none */
	} store;
	struct {
		char *url; /* "": nothing is sent.  http or https, without a path unless it is below
			      one */
		uint64_t kind;		  /* enum pesad_store_kind */
		char *application;	  /* the name that profiles go under */
		struct pesad_list labels; /* NAME=VALUE */
		char *tenant;		  /* of a store that has several; "": none */
		char *token_file;	  /* "Authorization: Bearer" from its only line; "": none */
		char *password_file;	  /* USER:PASSWORD for "Authorization: Basic"; "": none */
		char *authority; /* certificates that servers are trusted by; "": the system's */
		char *certificate, *key; /* of this client; "": none */
		bool verify;		 /* the server's certificate and name */
		bool symbols;		 /* functions and lines; false: addresses and build ids */
		uint64_t timeout;	 /* ns of one request */
		uint64_t retry_least, retry_most; /* ns between attempts: doubled from the one to
						     the other */
		char *spool;			  /* directory of what waits to be sent */
		uint64_t spool_size, spool_age;	  /* bytes, ns: the oldest goes first */
		uint64_t memory;		  /* bytes that the worker may use */
	} push;
	struct {
		char *listen;		 /* "127.0.0.1:9397", "[::1]:9397"; "": no port */
		char *socket;		 /* path of a unix socket; "": none */
		char *token_file;	 /* demanded of every request through the port; "": none */
		char *certificate, *key; /* TLS; "": plain HTTP */
		char *authority; /* of certificates that clients must have; "": they need none */
		bool open;	 /* the port answers everybody who reaches it */
		bool kernel_addresses; /* for all who may ask, not only who sees kallsyms */
		uint64_t connections;  /* at once */
		uint64_t profile_most; /* ns that a profile may be asked for */
		uint64_t memory;       /* bytes that the worker may use */
	} http;
};

/*
 * Read a configuration.  The first error is returned, "FILE:LINE: ..."; *config is untouched by it.
 * `path` is only named in messages by pesad_config_parse().  Without a path it is
 * PESAD_CONFIG_FILE, and where that does not exist every key has its default.
 */
struct pesa_error *pesad_config_read(const char *path, struct pesad_config **config);
struct pesa_error *pesad_config_parse(const char *path, const char *text, size_t size,
				      struct pesad_config **config);
void pesad_config_free(struct pesad_config *config);

/* Split "ADDRESS:PORT" or "[ADDRESS]:PORT" and say whether the address is this host's only. */
bool pesad_address_split(const char *text, char *address, size_t room, uint16_t *port,
			 bool *loopback);

/* ---- The table of keys (config_keys.c) ----------------------------------------------------- */

enum pesad_value {		  /* and the member that it is */
		   PESAD_TEXT,	  /* char * */
		   PESAD_PATH,	  /* char *, absolute or empty */
		   PESAD_BOOL,	  /* bool: yes, no */
		   PESAD_NUMBER,  /* uint64_t */
		   PESAD_SIZE,	  /* uint64_t, bytes */
		   PESAD_TIME,	  /* uint64_t, ns */
		   PESAD_CHOICE,  /* uint64_t: index in `choices` */
		   PESAD_WORDS,	  /* struct pesad_list */
		   PESAD_NUMBERS, /* struct pesad_list of numbers up to `most` */
};

struct pesad_key {
	const char *section, *name;
	enum pesad_value value;
	size_t offset;		    /* in struct pesad_config */
	const char *otherwise;	    /* the default, as it would be written */
	uint64_t least, most;	    /* of numbers, sizes and times */
	const char *const *choices; /* NULL-terminated */
};

extern const struct pesad_key pesad_keys[];
extern const size_t pesad_key_count;

#endif
