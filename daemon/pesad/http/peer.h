/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Peers: the user at the other end of a unix socket, and that user's permissions.
 *
 * The kernel records the user and the groups of a process when it connects (SO_PEERCRED,
 * SO_PEERGROUPS); the process cannot change them.  A user may send requests if the owner, group and
 * mode of the store's directory allow reading and searching it, as the kernel would check.  Root
 * always may.  Access control lists are ignored.
 *
 * Kernel addresses are shown to users who could read them in /proc/kallsyms, according to
 * /proc/sys/kernel/kptr_restrict and perf_event_paranoid.
 */
#ifndef DAEMON_PESAD_HTTP_PEER_H
#define DAEMON_PESAD_HTTP_PEER_H

#include <stdbool.h>
#include <sys/types.h>

/* The user at the other end; false: not a unix socket. */
bool pesad_peer_user(int socket, uid_t *user);
/* Return whether the user at the other end may read the directory. */
bool pesad_peer_reads(int socket, const char *directory);
/* The strictest mode of a socket to which all these users can connect. */
mode_t pesad_peer_socket_mode(const char *directory);

/*
 * Return whether a user can read kernel addresses in /proc/kallsyms.  `root` is prefixed to /proc;
 * "" for this machine.
 */
bool pesad_peer_sees_kernel(const char *root, uid_t user);

#endif
