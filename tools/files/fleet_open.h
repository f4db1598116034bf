/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A database of many machines as an input: -i clickhouse://...
 *
 * The program pesa-fleet asks the database and writes what it answers into a file, which has counted
 * records (pesa/record.h) and is removed when this process ends.  It is another process because it is
 * linked with libcurl, and because what it reads comes from a network.
 */
#ifndef TOOLS_FILES_FLEET_OPEN_H
#define TOOLS_FILES_FLEET_OPEN_H

#include <stdbool.h>

#include "pesa/error.h"

/* The first argument of pesa-fleet by which it reads a database. */
#define FLEET_READ "--read-into-file"

/* Whether a path is the URL of a database. */
bool fleet_is_url(const char *path);
/* The file of a database; NULL: the path is none. */
struct pesa_error *fleet_open(const char *path, const char **file);

#endif
