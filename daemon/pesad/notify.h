/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Notify: tell the service manager how far the daemon is, as sd_notify(3) describes: a datagram
 * to the socket that NOTIFY_SOCKET names.  Without one nothing is told.
 */
#ifndef DAEMON_PESAD_NOTIFY_H
#define DAEMON_PESAD_NOTIFY_H

/* "READY=1", "RELOADING=1", "STOPPING=1". */
void pesad_notify(const char *state);

#endif
