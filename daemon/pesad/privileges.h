/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Privileges: which ones the daemon keeps, and which ones it drops before it reads any data.
 *
 * The collector process keeps three capabilities: CAP_PERFMON (CPU-wide events including the
 * kernel), CAP_BPF (the counting program, unless disabled in the configuration) and CAP_SYS_PTRACE
 * (maps of other users' processes).  All others are removed from the permitted, effective,
 * inheritable, ambient and bounding sets; workers keep none.  no_new_privs is set.  A seccomp
 * filter allows a list of system calls; all others fail with EPERM.  The workers' list is the
 * collector's without perf_event_open, bpf and access to other processes.
 *
 * Privileges can only be dropped: a reloaded configuration cannot get more than the first one.
 */
#ifndef DAEMON_PESAD_PRIVILEGES_H
#define DAEMON_PESAD_PRIVILEGES_H

#include "daemon/pesad/base/config.h"
#include "daemon/pesad/base/log.h"
#include "pesa/error.h"

/* Raise the resource limits that rings and events need, as far as allowed.  Cannot fail. */
void pesad_privileges_limits(void);
/*
 * If started as root, create the missing directories of the configuration for `daemon.user` and
 * become that user; it is an error if there is no such user, or it is root.  Then keep the
 * collector's capabilities; missing ones are logged.
 */
struct pesa_error *pesad_privileges_keep(const struct pesad_config *config, struct pesad_log *log);
/*
 * Install the collector's system call filter.  PESA_ERROR_UNSUPPORTED: the kernel has no seccomp
 * filters.
 */
struct pesa_error *pesad_privileges_filter(void);
/*
 * In a worker: drop all capabilities, install the workers' filter, limit the memory (in bytes).
 * `runs_pesa`: it may execute programs.
 */
struct pesa_error *pesad_privileges_worker(uint64_t memory, bool runs_pesa);

#endif
