/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Side band: the tasks and maps that exist when a recording begins.
 *
 * During the recording the kernel reports every map, name, fork and exit.  What exists before is
 * read from /proc and written as records of the same types with time 0, before all others: the
 * kernel and its modules; for each process its parent, its threads and their names, and its
 * executable maps with the build ids of the files, which a child process reads (build_id_reader.h).
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
	struct pesa_mmap *maps; /* owns the paths */
	size_t count;
};

/*
 * Read the maps, to be written to several files: reading is slow and needs privileges.  *hidden:
 * the addresses are hidden (kptr_restrict), and there are no maps.
 */
struct pesa_error *pesa_kernel_maps_read(const char *root, struct pesa_kernel_maps *kernel,
					 bool *hidden);
struct pesa_error *pesa_kernel_maps_write(const struct pesa_kernel_maps *kernel,
					  struct pesa_perfdata_writer *writer);
void pesa_kernel_maps_free(struct pesa_kernel_maps *kernel);

/*
 * Write the maps of the kernel and its modules.  *hidden: the addresses are hidden (kptr_restrict),
 * and nothing was written.  `root` is prefixed to /proc, /sys and /lib; "" for this machine.
 */
struct pesa_error *pesa_sideband_kernel(const char *root, struct pesa_perfdata_writer *writer,
					bool *hidden);

/*
 * Write a process with all its threads; skip it if it is gone.  `data`: include maps that are not
 * executable.
 */
struct pesa_error *pesa_sideband_process(const char *root, pid_t process, bool data,
					 struct pesa_build_id_reader *reader,
					 struct pesa_perfdata_writer *writer);
/* List the processes; the caller frees *processes.  0: out of memory. */
size_t pesa_processes(const char *root, pid_t **processes);
/* Write all processes. */
struct pesa_error *pesa_sideband_all(const char *root, bool data,
				     struct pesa_build_id_reader *reader,
				     struct pesa_perfdata_writer *writer);

/* The process of a thread; 0: no such thread. */
pid_t pesa_process_of(const char *root, pid_t thread);
/*
 * List the threads of a process; the caller frees *threads.  0: the process is gone, or out of
 * memory.
 */
size_t pesa_threads_of(const char *root, pid_t process, pid_t **threads);

/*
 * Add the build id of the file to an MMAP2 record without one, if the file can still be found.
 * `record` is changed in place.
 */
void pesa_sideband_complete(const char *root, struct pesa_build_id_reader *reader, uint8_t *record,
			    size_t size);

#endif
