/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Control groups that exist when a recording begins: samples have the id of their task's group, and
 * records tell its path.  The kernel writes such records for groups that are made later.
 *
 * The id is the inode's number of the group's directory as the kernel's file handle has it, as perf
 * finds it.  The hierarchy is that of perf events: perf_event of version 1 where that is mounted, else
 * the one of version 2.
 */
#ifndef DAEMON_RECORD_CGROUPS_H
#define DAEMON_RECORD_CGROUPS_H

#include "pesa/perfdata.h"

/* Write a record for each control group; none where no hierarchy is mounted.  `root` is put before /proc and before the
 * place of the hierarchy; "" for this machine. */
struct pesa_error *pesa_sideband_cgroups(const char *root, struct pesa_perfdata_writer *writer);

#endif
