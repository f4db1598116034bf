/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Privileges: what the daemon keeps, and what it gives up before it looks at anything.
 *
 * The collecting process keeps three capabilities: CAP_PERFMON (events of whole CPUs, with the
 * kernel), CAP_BPF (the program that counts, unless the configuration has it off) and
 * CAP_SYS_PTRACE (maps of other users' processes).  All others leave the permitted, effective,
 * inheritable, ambient and bounding sets; workers keep none.  no_new_privs is set, and what the
 * processes may ask of the kernel is a list (seccomp): everything else is refused with EPERM.  The
 * workers' list is the collector's without events, BPF, and looking into other processes.
 *
 * Privileges can only be given up: a configuration that is read again cannot have more than the
 * first one.
 */
#ifndef DAEMON_PESAD_PRIVILEGES_H
#define DAEMON_PESAD_PRIVILEGES_H

#include "daemon/pesad/base/config.h"
#include "daemon/pesad/base/log.h"
#include "pesa/error.h"

/* Raise the limits that the rings and events need, as far as they may be: no error when not. */
void pesad_privileges_limits(void);
/*
 * Started as root, become `daemon.user`, for whom the missing directories of the configuration are
 * made before; an error where there is no such user, or it is root.  Then keep the capabilities of
 * the collector.  Missing ones are logged.
 */
struct pesa_error *pesad_privileges_keep(const struct pesad_config *config, struct pesad_log *log);
/* From now on only system calls of the collector's list.  PESA_ERROR_UNSUPPORTED: the kernel has no
 * such filters. */
struct pesa_error *pesad_privileges_filter(void);
/* In a worker: no capabilities, the shorter list, and the limit of memory in bytes. */
struct pesa_error *pesad_privileges_worker(uint64_t memory);

#endif
