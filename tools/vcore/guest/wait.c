// SPDX-License-Identifier: GPL-2.0-or-later
/* System calls of the guest that block.  See wait.h. */
#include <poll.h>
#include <sys/stat.h>

#include "tools/vcore/guest/calls.h"
#include "tools/vcore/guest/wait.h"
#include "tools/vcore/guest/follow.h"
#include "tools/vcore/core/process.h"

/* A shorter sleep keeps the turn. */
#define SHORT_SLEEP 5000000u /* ns */

static const struct {
	uint16_t number;
	uint16_t kind;
} calls[] = {
	{CALL_ACCEPT, GUEST_WAIT_INPUT},	  {CALL_ACCEPT4, GUEST_WAIT_INPUT},
	{CALL_CLOCK_NANOSLEEP, GUEST_WAIT_CLOCK}, {CALL_CONNECT, GUEST_WAIT_OUTPUT},
	{CALL_EPOLL_PWAIT, GUEST_WAIT_EVENT},	  {CALL_EPOLL_PWAIT2, GUEST_WAIT_EVENT},
	{CALL_FCNTL, GUEST_WAIT_EVENT},		  {CALL_FLOCK, GUEST_WAIT_EVENT},
	{CALL_FUTEX, GUEST_WAIT_EVENT},		  {CALL_IO_GETEVENTS, GUEST_WAIT_EVENT},
	{CALL_MQ_TIMEDRECEIVE, GUEST_WAIT_EVENT}, {CALL_MQ_TIMEDSEND, GUEST_WAIT_EVENT},
	{CALL_MSGRCV, GUEST_WAIT_EVENT},	  {CALL_MSGSND, GUEST_WAIT_EVENT},
	{CALL_NANOSLEEP, GUEST_WAIT_CLOCK},	  {CALL_PPOLL, GUEST_WAIT_EVENT},
	{CALL_PSELECT6, GUEST_WAIT_EVENT},	  {CALL_READ, GUEST_WAIT_INPUT},
	{CALL_READV, GUEST_WAIT_INPUT},		  {CALL_RECVFROM, GUEST_WAIT_INPUT},
	{CALL_RECVMMSG, GUEST_WAIT_INPUT},	  {CALL_RECVMSG, GUEST_WAIT_INPUT},
	{CALL_RT_SIGSUSPEND, GUEST_WAIT_EVENT},	  {CALL_RT_SIGTIMEDWAIT, GUEST_WAIT_EVENT},
	{CALL_SEMOP, GUEST_WAIT_EVENT},		  {CALL_SEMTIMEDOP, GUEST_WAIT_EVENT},
	{CALL_SENDFILE, GUEST_WAIT_EVENT},	  {CALL_SENDMMSG, GUEST_WAIT_OUTPUT},
	{CALL_SENDMSG, GUEST_WAIT_OUTPUT},	  {CALL_SENDTO, GUEST_WAIT_OUTPUT},
	{CALL_SPLICE, GUEST_WAIT_EVENT},	  {CALL_TEE, GUEST_WAIT_EVENT},
	{CALL_VMSPLICE, GUEST_WAIT_OUTPUT},	  {CALL_WAIT4, GUEST_WAIT_EVENT},
	{CALL_WAITID, GUEST_WAIT_EVENT},	  {CALL_WRITE, GUEST_WAIT_OUTPUT},
	{CALL_WRITEV, GUEST_WAIT_OUTPUT},
};

/* Absolute times are treated as far away. */
static bool sleeps_long(const struct process *process, uint64_t address, bool until)
{
	struct {
		int64_t seconds, nanoseconds;
	} time = {0};

	return until || !follow_read(process, address, &time, sizeof(time)) || time.seconds ||
	       time.nanoseconds > SHORT_SLEEP;
}

static bool is_stored(int file)
{
	struct stat state;

	return !fstat(file, &state) && (S_ISREG(state.st_mode) || S_ISDIR(state.st_mode));
}

struct guest_wait guest_wait_of(const struct process *process, int64_t number,
				const uint64_t *argument)
{
	struct guest_wait wait = {.file = (int)argument[0]};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].number == number)
			wait.kind = calls[i].kind;
	switch (wait.kind) {
	case GUEST_WAIT_INPUT:
	case GUEST_WAIT_OUTPUT:
		if (is_stored(wait.file))
			wait.kind = GUEST_WAIT_NONE;
		break;
	case GUEST_WAIT_CLOCK:
		if (number == CALL_NANOSLEEP
			    ? !sleeps_long(process, argument[0], false)
			    : !sleeps_long(process, argument[2], argument[1] & GUEST_TIMER_ABSTIME))
			wait.kind = GUEST_WAIT_NONE;
		break;
	default:
		break;
	}
	return wait;
}

bool guest_wait_lasts(const struct guest_wait *wait)
{
	struct pollfd file = {.fd = wait->file};

	switch (wait->kind) {
	case GUEST_WAIT_INPUT:
		file.events = POLLIN;
		return !poll(&file, 1, 0);
	case GUEST_WAIT_OUTPUT:
		file.events = POLLOUT;
		return !poll(&file, 1, 0);
	default:
		return wait->kind != GUEST_WAIT_NONE;
	}
}
