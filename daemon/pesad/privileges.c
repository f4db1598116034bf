// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/pesad/privileges.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <limits.h>
#include <pwd.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The shadow memory of AddressSanitizer exceeds any address space limit. */
#if defined(__SANITIZE_ADDRESS__)
#define HAS_SHADOW true
#elif defined(__has_feature)
#define HAS_SHADOW __has_feature(address_sanitizer)
#else
#define HAS_SHADOW false
#endif

/* ---- Capabilities -------------------------------------------------------------------------- */

static struct pesa_error *set_capabilities(const cap_value_t *kept, int count)
{
	cap_t none = cap_init();
	struct pesa_error *error = NULL;

	if (!none)
		return pesa_error_no_memory();
	if (count && (cap_set_flag(none, CAP_PERMITTED, count, kept, CAP_SET) ||
		      cap_set_flag(none, CAP_EFFECTIVE, count, kept, CAP_SET)))
		error = pesa_error_system(errno, "cannot choose capabilities");
	if (!error && cap_set_proc(none))
		error = pesa_error_system(errno, "cannot give up capabilities");
	cap_free(none);
	return error;
}

static bool is_kept(const cap_value_t *kept, int count, cap_value_t capability)
{
	for (int i = 0; i < count; i++)
		if (kept[i] == capability)
			return true;
	return false;
}

/* Without CAP_SETPCAP the bounding set stays as it is; no_new_privs has the same effect. */
static void bound(const cap_value_t *kept, int count)
{
	cap_reset_ambient();
	for (cap_value_t i = 0; i < cap_max_bits(); i++)
		if (!is_kept(kept, count, i))
			cap_drop_bound(i);
}

/* The capabilities of a list that the process has; log the others. */
static int available(cap_value_t *wanted, int count, struct pesad_log *log)
{
	cap_t own = cap_get_proc();
	int kept = 0;

	for (int i = 0; i < count; i++) {
		cap_flag_value_t value = CAP_CLEAR;
		char *name;

		if (own && !cap_get_flag(own, wanted[i], CAP_PERMITTED, &value) &&
		    value == CAP_SET) {
			wanted[kept++] = wanted[i];
			continue;
		}
		name = cap_to_name(wanted[i]);
		pesad_log(log, PESAD_LOG_WARNING, "%s is missing: %s", name ? name : "a capability",
			  wanted[i] == CAP_PERFMON ? "events of whole CPUs may be refused"
			  : wanted[i] == CAP_BPF
				  ? "samples may not be counted in the kernel"
				  : "maps of other users' processes may stay unknown");
		cap_free(name);
	}
	cap_free(own);
	return kept;
}

/* ---- The user ------------------------------------------------------------------------------ */

/*
 * Create a missing directory for a user.  A failure is reported later, when the directory is used.
 */
static void make_for(const struct passwd *user, const char *path, mode_t mode)
{
	int directory;

	if (!*path || mkdir(path, mode))
		return;
	directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (directory < 0)
		return;
	if (fchown(directory, user->pw_uid, user->pw_gid))
		rmdir(path);
	close(directory);
}

static void make_directories(const struct pesad_config *config, const struct passwd *user)
{
	char parent[PATH_MAX];

	make_for(user, config->store.directory, 0750);
	if (*config->push.url)
		make_for(user, config->push.spool, 0700);
	snprintf(parent, sizeof(parent), "%s", config->http.socket);
	make_for(user, dirname(parent), 0755);
}

/* No process stays root: a bug could change files that root owns. */
static struct pesa_error *become(const struct pesad_config *config)
{
	const char *name = config->daemon.user;
	const struct passwd *user;

	if (geteuid())
		return NULL;
	user = getpwnam(name);
	if (!user)
		return pesa_error_create(PESA_ERROR_NOT_FOUND,
					 "daemon: there is no user '%s' to become, and pesad does "
					 "not stay root: make one (useradd --system pesad), or "
					 "name another with 'user' in [daemon]",
					 name);
	if (!user->pw_uid)
		return pesa_error_create(
			PESA_ERROR_ARGUMENT,
			"daemon: user '%s' is root, which pesad does not stay: name another", name);
	make_directories(config, user);
	if (prctl(PR_SET_KEEPCAPS, 1) || initgroups(name, user->pw_gid) ||
	    setresgid(user->pw_gid, user->pw_gid, user->pw_gid) ||
	    setresuid(user->pw_uid, user->pw_uid, user->pw_uid))
		return pesa_error_system(errno, "cannot become the user '%s'", name);
	return NULL;
}

void pesad_privileges_limits(void)
{
	static const int resources[] = {RLIMIT_NOFILE, RLIMIT_MEMLOCK};

	for (size_t i = 0; i < COUNT(resources); i++) {
		struct rlimit limit;

		if (getrlimit((__rlimit_resource_t)resources[i], &limit))
			continue;
		limit.rlim_cur = limit.rlim_max;
		setrlimit((__rlimit_resource_t)resources[i], &limit);
	}
}

struct pesa_error *pesad_privileges_keep(const struct pesad_config *config, struct pesad_log *log)
{
	cap_value_t kept[] = {CAP_PERFMON, CAP_SYS_PTRACE, CAP_BPF};
	int count = available(kept, config->bpf.enable ? 3 : 2, log);
	struct pesa_error *error;

	bound(kept, count);
	error = become(config);
	if (!error)
		error = set_capabilities(kept, count);
	if (!error && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		error = pesa_error_system(errno, "cannot give up new privileges");
	/* After a change of user, /proc/self is not accessible otherwise. */
	prctl(PR_SET_DUMPABLE, 1);
	return error;
}

/* ---- System calls -------------------------------------------------------------------------- */

/* By name, because not every architecture has all of them. */
static const char *const common[] = {
	/* memory and threads */
	"brk",
	"mmap",
	"munmap",
	"mprotect",
	"mremap",
	"madvise",
	"membarrier",
	"futex",
	"futex_waitv",
	"set_robust_list",
	"get_robust_list",
	"set_tid_address",
	"rseq",
	"clone",
	"clone3",
	"exit",
	"exit_group",
	"restart_syscall",
	"sched_yield",
	"sched_getaffinity",
	"sched_getparam",
	"sched_getscheduler",
	"gettid",
	"getpid",
	"getppid",
	"arch_prctl",
	"riscv_hwprobe",
	"riscv_flush_icache",
	"getrandom",
	"getcpu",
	/* signals and time */
	"rt_sigaction",
	"rt_sigprocmask",
	"rt_sigreturn",
	"rt_sigtimedwait",
	"sigaltstack",
	"signalfd4",
	"tgkill",
	"kill",
	"clock_gettime",
	"clock_getres",
	"clock_nanosleep",
	"nanosleep",
	"gettimeofday",
	"time",
	"timerfd_create",
	"timerfd_settime",
	"timerfd_gettime",
	"eventfd2",
	/* files */
	"read",
	"readv",
	"pread64",
	"preadv",
	"write",
	"writev",
	"pwrite64",
	"pwritev",
	"lseek",
	"open",
	"openat",
	"close",
	"close_range",
	"dup",
	"dup2",
	"dup3",
	"fcntl",
	"fstat",
	"stat",
	"lstat",
	"newfstatat",
	"fstatat64",
	"statx",
	"fstatfs",
	"statfs",
	"access",
	"faccessat",
	"faccessat2",
	"getdents64",
	"getcwd",
	"readlink",
	"readlinkat",
	"rename",
	"renameat",
	"renameat2",
	"unlink",
	"unlinkat",
	"mkdir",
	"mkdirat",
	"chmod",
	"fchmod",
	"fchmodat",
	"ftruncate",
	"fallocate",
	"fsync",
	"fdatasync",
	"fadvise64",
	"sendfile",
	"copy_file_range",
	"pipe",
	"pipe2",
	"umask",
	"utimensat",
	"flock",
	/* waiting */
	"poll",
	"ppoll",
	"select",
	"pselect6",
	"epoll_create1",
	"epoll_ctl",
	"epoll_wait",
	"epoll_pwait",
	"epoll_pwait2",
	"wait4",
	"waitid",
	/* sockets */
	"socketpair",
	"connect",
	"bind",
	"listen",
	"accept",
	"accept4",
	"getsockname",
	"getpeername",
	"getsockopt",
	"setsockopt",
	"shutdown",
	"sendto",
	"sendmsg",
	"sendmmsg",
	"recvfrom",
	"recvmsg",
	"recvmmsg",
	/* own process */
	"getuid",
	"geteuid",
	"getgid",
	"getegid",
	"getgroups",
	"getrlimit",
	"prlimit64",
	"setrlimit",
	"getrusage",
	"times",
	"uname",
	"sysinfo",
	"setpriority",
	"getpriority",
	"prctl",
	"capget",
	"capset",
	"seccomp",
	"getpgrp",
	"getsid",
};

/*
 * libbpf creates maps of file contents in memory first.  The last three are not the collector's: a
 * worker has the filters of both, and the one that answers requests executes pesa.  A program that is
 * executed has no capabilities, as none is ambient.
 */
static const char *const collector_only[] = {"perf_event_open", "bpf",	  "memfd_create", "ioctl",
					     "execve",		"setsid", "rmdir"};
/*
 * First those of all workers.  ioctl: also for terminals and sockets; event ioctls need an event's
 * descriptor.  The others are for pesa, which makes pages and inherits the filter.
 */
static const char *const worker_only[] = {"ioctl", "execve", "setsid", "rmdir"};
#define WORKER_ONLY_ALL 1

static struct pesa_error *allow(scmp_filter_ctx filter, const char *name)
{
	int number = seccomp_syscall_resolve_name(name), refused;

	if (number == __NR_SCMP_ERROR || number < 0)
		return NULL;
	refused = seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0);
	return refused ? pesa_error_system(-refused, "cannot allow the system call %s", name)
		       : NULL;
}

/* Unix and internet sockets; netlink for CPU hotplug and for name lookups. */
static struct pesa_error *allow_sockets(scmp_filter_ctx filter)
{
	static const int families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
	int refused = 0;

	for (size_t i = 0; i < COUNT(families) && !refused; i++)
		refused = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
					   SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)families[i], 0));
	return refused ? pesa_error_system(-refused, "cannot allow sockets") : NULL;
}

static struct pesa_error *install(const char *const *more, size_t count)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	struct pesa_error *error = filter ? allow_sockets(filter) : pesa_error_no_memory();
	int refused;

	for (size_t i = 0; i < COUNT(common) && !error; i++)
		error = allow(filter, common[i]);
	for (size_t i = 0; i < count && !error; i++)
		error = allow(filter, more[i]);
	if (!error) {
		refused = seccomp_load(filter);
		if (refused)
			error = pesa_error_system(-refused,
						  "cannot load the filter of system calls");
	}
	if (filter)
		seccomp_release(filter);
	return error;
}

struct pesa_error *pesad_privileges_filter(void)
{
	if (prctl(PR_GET_SECCOMP) < 0 && errno == EINVAL)
		return pesa_error_create(PESA_ERROR_UNSUPPORTED,
					 "system calls are not filtered: the kernel was built "
					 "without CONFIG_SECCOMP_FILTER");
	return install(collector_only, COUNT(collector_only));
}

struct pesa_error *pesad_privileges_worker(uint64_t memory, bool runs_pesa)
{
	const struct rlimit no_core = {0};
	struct pesa_error *error;

	bound(NULL, 0);
	error = set_capabilities(NULL, 0);
	if (error)
		return error;
	setrlimit(RLIMIT_CORE, &no_core);
	setpriority(PRIO_PROCESS, 0, 10);
	if (!HAS_SHADOW && setrlimit(RLIMIT_AS, &(struct rlimit){memory, memory}))
		return pesa_error_system(errno, "cannot limit memory to %llu bytes",
					 (unsigned long long)memory);
	if (prctl(PR_GET_SECCOMP) < 0)
		return NULL;
	return install(worker_only, runs_pesa ? COUNT(worker_only) : WORKER_ONLY_ALL);
}
