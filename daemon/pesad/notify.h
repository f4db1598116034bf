/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Notifies the service manager of the daemon's state, as in sd_notify(3): a datagram to the socket
 * in NOTIFY_SOCKET.  Without that variable it does nothing.
 */
#ifndef DAEMON_PESAD_NOTIFY_H
#define DAEMON_PESAD_NOTIFY_H

/* "READY=1", "RELOADING=1", "STOPPING=1". */
void pesad_notify(const char *state);

#endif
