/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Peers: who is at the other end of a unix socket, and what that user may see.
 *
 * The kernel keeps the user and the groups that a process had when it connected (SO_PEERCRED,
 * SO_PEERGROUPS); nothing that the process sends can change them.  A user may ask who may read the
 * directory of the store by its owner, group and mode: reading and searching, in the class that the
 * kernel would choose.  Root always may.  Access control lists are not looked at.
 *
 * Addresses of the kernel are shown to those who find them in /proc/kallsyms, by the rules that
 * /proc/sys/kernel/kptr_restrict and perf_event_paranoid give.
 */
#ifndef DAEMON_PESAD_HTTP_PEER_H
#define DAEMON_PESAD_HTTP_PEER_H

#include <stdbool.h>
#include <sys/types.h>

/* The user at the other end; false: the socket is none of a kind that knows. */
bool pesad_peer_user(int socket, uid_t *user);
/* Whether the user at the other end may read the directory. */
bool pesad_peer_reads(int socket, const char *directory);
/* The least mode of a socket with which all of these can connect. */
mode_t pesad_peer_socket_mode(const char *directory);

/* Whether a user finds the addresses of the kernel in /proc/kallsyms.  `root` is in front of /proc:
 * "" for this machine. */
bool pesad_peer_sees_kernel(const char *root, uid_t user);

#endif
