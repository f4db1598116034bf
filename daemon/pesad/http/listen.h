/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The listening sockets: a TCP port, and a unix socket that has its mode from its creation on. */
#ifndef DAEMON_PESAD_HTTP_LISTEN_H
#define DAEMON_PESAD_HTTP_LISTEN_H

#include <stdbool.h>
#include <sys/types.h>

#include "pesa/error.h"

/*
 * Listen at "ADDRESS:PORT" or "[ADDRESS]:PORT".  *loopback: the bound address is a loopback
 * address.  The caller closes *listener.
 */
struct pesa_error *pesad_listen_port(const char *text, int *listener, bool *loopback);

/* Listen at a path.  A stale socket is replaced; a live one, or another file, is an error. */
struct pesa_error *pesad_listen_path(const char *path, mode_t mode, int *listener);

#endif
