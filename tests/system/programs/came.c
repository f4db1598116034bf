// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * came CPU FILE: open an event on a hart that is offline as soon as perf lets one, bring FILE into
 * being then, and when standard input ends tell how often it overflowed.
 *
 * perf lets one before the hart runs, and then forgets it (perf_install_in_context() of Linux 6.12
 * looks at no error of cpu_function_call()): an event that never runs is opened anew.  One that runs
 * without counting is what the driver is tested for.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include "guest_event.h"

#define TIMEOUT 30 /* seconds */

int main(int argc, char **argv)
{
	struct perf_event_attr attr = {
		.type = guest_pmu_type(),
		.size = sizeof(attr),
		.config = CONFIG_CYCLES,
		.sample_period = 20000,
		.sample_type = PERF_SAMPLE_IP,
		.read_format = PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
	struct {
		unsigned long long count, running;
	} seen = {0};
	int event, made, forgotten = 0;
	time_t last = time(NULL) + TIMEOUT;
	char byte;

	if (argc != 3)
		return 2;
	for (;; forgotten++) {
		do {
			event = guest_open(&attr, -1, atoi(argv[1]), -1);
		} while (event < 0 && errno == ENODEV);
		if (event < 0) {
			printf("cannot open: %s\n", strerror(errno));
			return 1;
		}
		if (read(event, &seen, sizeof(seen)) != sizeof(seen))
			return 1;
		if (seen.running || time(NULL) > last)
			break;
		close(event);
	}
	made = open(argv[2], O_CREAT | O_WRONLY, 0644);
	close(made);
	while (read(0, &byte, 1) > 0)
		;
	if (read(event, &seen, sizeof(seen)) != sizeof(seen))
		return 1;
	printf("%llu overflows in %llu ns, %d events forgotten\n", seen.count / attr.sample_period,
	       seen.running, forgotten);
	return 0;
}
