/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Preloaded into a program: one allocation that its own code asks for fails.
 *
 *   ALLOCATIONS=FILE  write the places that allocate, as "OFFSET COUNT" lines: the address that the
 *                     call returns to, from the program's start or, plus IN_COMMANDS, from that of
 *                     pesa-commands.so, and how many calls there were
 *   FAILING=OFFSET:N  the Nth call from this place returns NULL
 *
 * Allocations of libraries succeed, but for json-c's functions, which fail as those do that allocate.
 * Programs that this one starts are left alone.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <dlfcn.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLACES	    8192u /* a power of two, larger than the places of any program here */
#define IN_COMMANDS (1ul << 40)
#define COMMANDS    "/pesa-commands.so"

/* The C library's own, under the names that it has them for this. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

static struct place {
	unsigned long offset, count;
} places[PLACES];
/* The program, and the shared object that it loads. */
static struct range {
	unsigned long start, end, first; /* first: offset of its start */
} ranges[2] = {[1] = {.first = IN_COMMANDS}};
static unsigned long failing, nth, calls;
static char file[4096];
static int process;

static void set_range(struct range *range, const struct dl_phdr_info *info)
{
	unsigned long end = 0;

	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD)
			end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr +
			      info->dlpi_phdr[i].p_memsz;
	range->start = info->dlpi_addr;
	range->end = end;
}

/* The first object is the program. */
static int find_program(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	set_range(&ranges[0], info);
	return 1;
}

static int find_commands(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	if (!strstr(info->dlpi_name, COMMANDS))
		return 0;
	set_range(&ranges[1], info);
	return 1;
}

void *dlopen(const char *path, int flags)
{
	void *(*real)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
	void *loaded = real(path, flags);

	if (loaded && path && strstr(path, COMMANDS))
		dl_iterate_phdr(find_commands, NULL);
	return loaded;
}

__attribute__((constructor)) static void begin(void)
{
	const char *wanted = getenv("FAILING"), *name = getenv("ALLOCATIONS");

	if (wanted)
		sscanf(wanted, "%lx:%lu", &failing, &nth);
	if (name)
		snprintf(file, sizeof(file), "%s", name);
	process = getpid();
	unsetenv("LD_PRELOAD");
	unsetenv("FAILING");
	unsetenv("ALLOCATIONS");
	dl_iterate_phdr(find_program, NULL);
}

__attribute__((destructor)) static void write_places(void)
{
	FILE *out;

	if (!*file || getpid() != process)
		return;
	memset(ranges, 0, sizeof(ranges));
	out = fopen(file, "w");
	for (unsigned int i = 0; out && i < PLACES; i++)
		if (places[i].count)
			fprintf(out, "%lx %lu\n", places[i].offset, places[i].count);
	if (out)
		fclose(out);
}

/* Count a call.  1: it is the one that fails. */
static int fails(const void *place)
{
	unsigned long address = (unsigned long)place, offset;
	const struct range *range = &ranges[address < ranges[0].start || address >= ranges[0].end];

	if (address < range->start || address >= range->end)
		return 0;
	offset = address - range->start + range->first;
	if (*file) {
		unsigned int at = (unsigned int)(offset * 2654435761u) % PLACES;
		unsigned long none = 0;

		while (__atomic_load_n(&places[at].offset, __ATOMIC_RELAXED) != offset &&
		       !__atomic_compare_exchange_n(&places[at].offset, &none, offset, 0,
						    __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			at = (at + (none != offset)) % PLACES;
			none = 0;
		}
		__atomic_fetch_add(&places[at].count, 1, __ATOMIC_RELAXED);
	}
	if (offset != failing || __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) != nth)
		return 0;
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(memory, size);
}

static char *copy_of(const char *text, size_t length)
{
	char *copy = __libc_malloc(length + 1);

	if (copy) {
		memcpy(copy, text, length);
		copy[length] = '\0';
	}
	return copy;
}

char *strdup(const char *text)
{
	return fails(__builtin_return_address(0)) ? NULL : copy_of(text, strlen(text));
}

char *strndup(const char *text, size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : copy_of(text, strnlen(text, size));
}

static int print(char **text, const char *format, va_list arguments)
{
	va_list again;
	int length;

	va_copy(again, arguments);
	length = vsnprintf(NULL, 0, format, again);
	va_end(again);
	*text = length < 0 ? NULL : __libc_malloc((size_t)length + 1);
	return *text ? vsnprintf(*text, (size_t)length + 1, format, arguments) : -1;
}

int vasprintf(char **text, const char *format, va_list arguments)
{
	/* What is there after a failure is not defined. */
	*text = (char *)1;
	return fails(__builtin_return_address(0)) ? -1 : print(text, format, arguments);
}

int asprintf(char **text, const char *format, ...)
{
	va_list arguments;
	int length = -1;

	*text = (char *)1;
	if (fails(__builtin_return_address(0)))
		return -1;
	va_start(arguments, format);
	length = print(text, format, arguments);
	va_end(arguments);
	return length;
}

/* json-c.  Where a failure is -1, the value that was to be added is still the caller's. */

#define REAL(name) ((typeof(&name))dlsym(RTLD_NEXT, #name))

void *json_object_new_object(void)
{
	return fails(__builtin_return_address(0)) ? NULL : REAL(json_object_new_object)();
}

void *json_object_new_array(void)
{
	return fails(__builtin_return_address(0)) ? NULL : REAL(json_object_new_array)();
}

void *json_object_new_boolean(int value)
{
	return fails(__builtin_return_address(0)) ? NULL : REAL(json_object_new_boolean)(value);
}

void *json_object_new_int(int value)
{
	return fails(__builtin_return_address(0)) ? NULL : REAL(json_object_new_int)(value);
}

void *json_object_new_uint64(unsigned long value)
{
	return fails(__builtin_return_address(0)) ? NULL : REAL(json_object_new_uint64)(value);
}

void *json_object_new_double_s(double value, const char *text)
{
	return fails(__builtin_return_address(0)) ? NULL
						  : REAL(json_object_new_double_s)(value, text);
}

void *json_object_new_string(const char *text)
{
	return fails(__builtin_return_address(0)) ? NULL : REAL(json_object_new_string)(text);
}

int json_object_object_add(void *object, const char *name, void *value)
{
	return fails(__builtin_return_address(0))
		       ? -1
		       : REAL(json_object_object_add)(object, name, value);
}

int json_object_array_add(void *array, void *value)
{
	return fails(__builtin_return_address(0)) ? -1 : REAL(json_object_array_add)(array, value);
}
