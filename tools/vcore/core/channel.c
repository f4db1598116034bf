// SPDX-License-Identifier: GPL-2.0-or-later
/* The process's region of shared memory, and messages.  See daemon/vcore/channel.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tools/vcore/core/channel.h"
#include "tools/vcore/core/process.h"

static struct vcore_region *map_region(int fd, unsigned int index, void *place)
{
	off_t offset = (off_t)(VCORE_CONTROL_SIZE + (uint64_t)index * VCORE_REGION_SIZE);
	void *region = mmap(place, VCORE_REGION_SIZE, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_NORESERVE | (place ? MAP_FIXED : 0), fd, offset);

	if (region == MAP_FAILED)
		return NULL;
	madvise(region, VCORE_REGION_SIZE, MADV_DONTDUMP);
	return region;
}

/* Entries are whole cache lines. */
static uint32_t golden_stride(const struct pesa_core *core)
{
	return (uint32_t)((sizeof(struct vcore_golden) + core->retire_width * sizeof(uint64_t) +
			   63) &
			  ~63ull);
}

static bool take_region(struct process *process, int fd, void *place)
{
	unsigned int index = atomic_fetch_add(&process->control->regions, 1);
	struct vcore_region *region;

	if (index >= VCORE_REGION_MAX) {
		atomic_fetch_sub(&process->control->regions, 1);
		atomic_fetch_add(&process->control->refused, 1);
		return false;
	}
	region = map_region(fd, index, place);
	if (!region) {
		atomic_fetch_add(&process->control->refused, 1);
		return false;
	}
	region->pid = (uint32_t)getpid();
	/*
	 * In a forked child, process->pid is still the parent's pid; the parent may have ended
	 * since.
	 */
	region->parent_pid = process->pid ? (uint32_t)process->pid : (uint32_t)getppid();
	region->golden_stride = golden_stride(process->core);
	process->region = region;
	process->region_index = index;
	process->pid = getpid();
	atomic_store(&region->state, VCORE_REGION_RUNS);
	return true;
}

const char *channel_open(struct process *process, const char *path)
{
	struct vcore_control *control;
	const char *problem = NULL;
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return "cannot open the recorder's shared memory (is /proc mounted?)";
	control = mmap(NULL, VCORE_CONTROL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (control == MAP_FAILED) {
		close(fd);
		return "cannot map the recorder's shared memory";
	}
	if (control->magic != VCORE_MAGIC) {
		problem = "the recorder is another version than this plugin";
	} else {
		process->control = control;
		process->core = &control->core;
		if (!take_region(process, fd, NULL))
			problem = "too many processes for one recording";
	}
	close(fd);
	return problem;
}

bool channel_refork(struct process *process)
{
	int fd = open(process->control->channel, O_RDWR | O_CLOEXEC);
	bool taken = fd >= 0 && take_region(process, fd, process->region);

	if (fd >= 0)
		close(fd);
	if (!taken) {
		/* Do not count into the parent's region: continue without a recorder. */
		process->no_recorder = true;
		if (mmap(process->region, VCORE_REGION_SIZE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
			 0) == MAP_FAILED)
			_exit(125);
		process->region->golden_stride = golden_stride(process->core);
		process->pid = getpid();
	}
	return taken;
}

/* The recorder sets a flag when it stops; it may also have been killed. */
static bool recorder_gone(const struct process *process)
{
	uint32_t pid = atomic_load(&process->control->recorder_pid);

	return !pid || (kill((pid_t)pid, 0) && errno == ESRCH);
}

/* Wait until `size` bytes fit.  Returns false when the recorder is gone. */
static bool wait_for_room(struct process *process, uint64_t head, size_t size)
{
	struct vcore_region *region = process->region;
	const struct timespec pause = {.tv_nsec = 1000000};
	unsigned int turns = 0;

	while (head + size - atomic_load_explicit(&region->tail, memory_order_acquire) >
	       VCORE_RING_SIZE) {
		if (turns++ % 64 == 0 && recorder_gone(process)) {
			process->no_recorder = true;
			return false;
		}
		nanosleep(&pause, NULL);
	}
	return true;
}

static void copy_in(struct vcore_region *region, uint64_t head, const void *bytes, size_t size)
{
	char *ring = (char *)region + VCORE_RING_OFFSET;
	size_t at = head % VCORE_RING_SIZE;
	size_t first = size < VCORE_RING_SIZE - at ? size : VCORE_RING_SIZE - at;

	memcpy(ring + at, bytes, first);
	memcpy(ring, (const char *)bytes + first, size - first);
}

bool channel_send(struct process *process, struct vcore_message *message, const void *tail,
		  size_t tail_size)
{
	struct vcore_region *region = process->region;
	size_t size = (sizeof(*message) + tail_size + 7) & ~(size_t)7;
	bool sent = false;
	uint64_t head;

	message->size = (uint32_t)size;
	message->pid = (uint32_t)process->pid;
	pthread_mutex_lock(&process->ring_lock);
	head = atomic_load_explicit(&region->head, memory_order_relaxed);
	if (!process->no_recorder && wait_for_room(process, head, size)) {
		copy_in(region, head, message, sizeof(*message));
		copy_in(region, head + sizeof(*message), tail, tail_size);
		atomic_store_explicit(&region->head, head + size, memory_order_release);
		sent = true;
	}
	pthread_mutex_unlock(&process->ring_lock);
	if (!sent)
		atomic_fetch_add(&region->lost, 1);
	return sent;
}
