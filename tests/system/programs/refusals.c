// SPDX-License-Identifier: GPL-2.0-or-later
/* What the driver refuses, and why: one line "ok NAME" or "not ok NAME: what came" for each. */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "guest_event.h"

static struct perf_event_attr usual;

static void tell(const char *name, int expected, int got)
{
	if (expected == got)
		printf("ok %s\n", name);
	else
		printf("not ok %s: %s in the place of %s\n", name, strerrorname_np(got),
		       strerrorname_np(expected));
}

static int opened(struct perf_event_attr attr, int group)
{
	int event = guest_open(&attr, 0, -1, group), error = event < 0 ? errno : 0;

	if (event >= 0)
		close(event);
	return error;
}

/* A change of the usual attributes, and the errno that it brings. */
#define REFUSED(name, expected, ...)                    \
	do {                                            \
		struct perf_event_attr attr = usual;    \
		__VA_ARGS__;                            \
		tell(name, expected, opened(attr, -1)); \
	} while (0)

static void periods(unsigned long long longest)
{
	REFUSED("the usual event", 0, (void)attr);
	REFUSED("no period", EOPNOTSUPP, attr.sample_period = 0);
	REFUSED("a period of 1", EINVAL, attr.sample_period = 1);
	REFUSED("a period below the minimum", EINVAL, attr.sample_period = 255);
	REFUSED("the minimum", 0, attr.sample_period = 256);
	REFUSED("the longest period", 0, attr.sample_period = longest; attr.config |= CONFIG_FIXED);
	REFUSED("a longer one", EINVAL, attr.sample_period = longest + 1;
		attr.config |= CONFIG_FIXED);
	REFUSED("the longest period with its jitter", EINVAL, attr.sample_period = longest);
	REFUSED("a period of 2^62", EINVAL, attr.sample_period = 1ull << 62);
	REFUSED("a period with the top bit", EINVAL, attr.sample_period = 1ull << 63);
}

static int with_config3(void)
{
	struct {
		struct perf_event_attr attr;
		char more[128];
	} larger = {.attr = usual};
	int event, error;

	larger.attr.size = 136; /* PERF_ATTR_SIZE_VER8 */
	larger.more[128 - sizeof(larger.attr)] = 1;
	event = guest_open(&larger.attr, 0, -1, -1);
	error = event < 0 ? errno : 0;
	if (event >= 0)
		close(event);
	return error;
}

static void terms(void)
{
	REFUSED("an unknown bit of config", EINVAL, attr.config |= 1u << 10);
	REFUSED("the top bit of config", EINVAL, attr.config |= 1ull << 63);
	REFUSED("another event", EINVAL, attr.config = 2);
	REFUSED("event 0", EINVAL, attr.config = 0);
	REFUSED("config1", EINVAL, attr.config1 = 1);
	REFUSED("config2", EINVAL, attr.config2 = 1);
	/* Behind the fields that older headers know. */
	tell("config3", EINVAL, with_config3());
	REFUSED("without the host", EOPNOTSUPP, attr.exclude_host = 1);
}

static void branches(int depth)
{
	int there = depth ? 0 : EOPNOTSUPP;

	REFUSED("branch stacks", there, attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
		attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY);
	REFUSED("calls", there, attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
		attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY_CALL);
	REFUSED("transactions", EOPNOTSUPP, attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
		attr.branch_sample_type = PERF_SAMPLE_BRANCH_IN_TX);
	REFUSED("call stacks", EOPNOTSUPP, attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
		attr.branch_sample_type = PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_ANY);
}

static void autorun(int offered)
{
	REFUSED("AutoRun", offered ? 0 : EOPNOTSUPP, attr.config |= CONFIG_AUTORUN);
	REFUSED("AutoRun by frequency", EOPNOTSUPP, attr.config |= CONFIG_AUTORUN; attr.freq = 1;
		attr.sample_freq = 1000);
	REFUSED("AutoRun without idle", EOPNOTSUPP, attr.config |= CONFIG_AUTORUN;
		attr.exclude_idle = 1);
	REFUSED("AutoRun without guests", EINVAL, attr.config |= CONFIG_AUTORUN;
		attr.exclude_guest = 1);
	REFUSED("AutoRun with branch stacks", EOPNOTSUPP, attr.config |= CONFIG_AUTORUN;
		attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
		attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY);
}

static void others(void)
{
	struct perf_event_attr attr = usual;
	int leader = guest_open(&attr, 0, -1, -1);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned long long period = 100;
	void *ring;

	tell("two in a group", EBUSY, opened(attr, leader));
	tell("a new period below the minimum", EINVAL,
	     ioctl(leader, PERF_EVENT_IOC_PERIOD, &period) ? errno : 0);
	period = 1000;
	tell("a new period", 0, ioctl(leader, PERF_EVENT_IOC_PERIOD, &period) ? errno : 0);
	ring = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_SHARED, leader, 0);
	tell("a ring of three pages", EINVAL, ring == MAP_FAILED ? errno : 0);
	tell("a hart that there is not", EINVAL, guest_open(&attr, -1, 4000, -1) < 0 ? errno : 0);
	close(leader);
	attr.freq = 1;
	attr.sample_freq = 1000;
	leader = guest_open(&attr, 0, -1, -1);
	period = 100;
	tell("a frequency that would be too short a period", 0,
	     ioctl(leader, PERF_EVENT_IOC_PERIOD, &period) ? errno : 0);
	close(leader);
}

static int number_of(const char *name)
{
	char path[128];
	int number = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/pesa/caps/%s", name);
	file = fopen(path, "r");
	if (!file || fscanf(file, "%d", &number) != 1)
		printf("not ok %s: cannot be read\n", path);
	if (file)
		fclose(file);
	return number;
}

int main(void)
{
	usual = (struct perf_event_attr){
		.type = guest_pmu_type(),
		.size = sizeof(usual),
		.config = CONFIG_CYCLES,
		.sample_period = 10000,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_RAW,
		.disabled = 1,
	};
	periods((1ull << number_of("counter_bits")) - 1);
	terms();
	branches(number_of("ctr_depth"));
	autorun(number_of("autorun"));
	others();
	return 0;
}
