/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Listening: the sockets that requests come through.
 *
 * A port on an address of this host or of the network, and a unix socket that has its mode from the
 * moment that it exists.
 */
#ifndef DAEMON_PESAD_HTTP_LISTEN_H
#define DAEMON_PESAD_HTTP_LISTEN_H

#include <stdbool.h>
#include <sys/types.h>

#include "pesa/error.h"

/* Listen at "ADDRESS:PORT" or "[ADDRESS]:PORT".  *loopback: only this host reaches the address that
 * the socket really has.  *listener is the caller's to close. */
struct pesa_error *pesad_listen_port(const char *text, int *listener, bool *loopback);

/* Listen at a path.  What an ended process left there is replaced; where a process still answers,
 * or something else stands there, that is an error. */
struct pesa_error *pesad_listen_path(const char *path, mode_t mode, int *listener);

#endif
