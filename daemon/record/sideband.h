/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Side band: what runs already when a recording begins.
 *
 * From its beginning on the kernel tells every map, name, fork and exit.  What was there before is
 * read from /proc and written as records of the same kinds at the time 0, in front of everything:
 * the kernel and its modules, and of each process its parent, its threads and their names, and its
 * executable maps with the build ids of the files, which a process of its own reads
 * (build_id_reader.h).
 */
#ifndef DAEMON_RECORD_SIDEBAND_H
#define DAEMON_RECORD_SIDEBAND_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "daemon/record/build_id_reader.h"
#include "pesa/error.h"
#include "pesa/perfdata.h"

/* The maps of the kernel and its modules. */
struct pesa_kernel_maps {
	struct pesa_mmap *maps; /* with paths of their own */
	size_t count;
};

/*
 * Read them once, to be written into several files: it takes long, and privileges.  *hidden: their
 * addresses are kept from us (kptr_restrict), and there are none.
 */
struct pesa_error *pesa_kernel_maps_read(const char *root, struct pesa_kernel_maps *kernel,
					 bool *hidden);
struct pesa_error *pesa_kernel_maps_write(const struct pesa_kernel_maps *kernel,
					  struct pesa_perfdata_writer *writer);
void pesa_kernel_maps_free(struct pesa_kernel_maps *kernel);

/*
 * Write the maps of the kernel and its modules.  *hidden: their addresses are kept from us
 * (kptr_restrict), and nothing was written.  `root` is in front of /proc, /sys and /lib: "" for
 * this machine.
 */
struct pesa_error *pesa_sideband_kernel(const char *root, struct pesa_perfdata_writer *writer,
					bool *hidden);

/* Write a process with all its threads.  One that has gone is passed over.  `data`: also the maps
 * that are not executable. */
struct pesa_error *pesa_sideband_process(const char *root, pid_t process, bool data,
					 struct pesa_build_id_reader *reader,
					 struct pesa_perfdata_writer *writer);
/* The processes that there are: *processes is owned by the caller.  0: memory has gone. */
size_t pesa_processes(const char *root, pid_t **processes);
/* Write every process. */
struct pesa_error *pesa_sideband_all(const char *root, bool data,
				     struct pesa_build_id_reader *reader,
				     struct pesa_perfdata_writer *writer);

/* The process of a thread; 0: there is none. */
pid_t pesa_process_of(const char *root, pid_t thread);
/* The threads of a process: *threads is owned by the caller.  0: it has gone, or memory has. */
size_t pesa_threads_of(const char *root, pid_t process, pid_t **threads);

/*
 * Give a MMAP2 record of an event without build ids that of its file, where the file can still be
 * found.  `record` is changed in place.
 */
void pesa_sideband_complete(const char *root, struct pesa_build_id_reader *reader, uint8_t *record,
			    size_t size);

#endif
