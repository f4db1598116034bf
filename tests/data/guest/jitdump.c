// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that makes its code at run time and tells of it in a jitdump: jitdump [TURNS]
 *
 * In one page it runs "adds", then "multiplies" in the same place, then "mixes" behind it, then moves that to another
 * page and runs it there.  It writes jit-PID.dump to the working directory, with source lines.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGE  4096u
#define PLACE 64u /* bytes from one function to the next */
#define SIZE  sizeof(adds)

typedef uint64_t (*function)(uint64_t turns);

/* Each is the same loop around another instruction. */
#ifdef __riscv
#define MACHINE EM_RISCV
#define LOOP(instruction)                                                               \
	{                                                                               \
		0x00300593, instruction, 0xfff50513, 0xfe051ce3, 0x00058513, 0x00008067 \
	}
static const uint32_t adds[] = LOOP(0x00358593);       /* addi a1,a1,3 */
static const uint32_t multiplies[] = LOOP(0x02b585b3); /* mul a1,a1,a1 */
static const uint32_t mixes[] = LOOP(0x00a5c5b3);      /* xor a1,a1,a0 */
#define LOOP_AT 4				       /* bytes from the start */
#else
#define MACHINE EM_X86_64
#define LOOP(...)                                                           \
	{                                                                   \
		0x31, 0xc0, __VA_ARGS__, 0x48, 0xff, 0xcf, 0x75, 0xf7, 0xc3 \
	}
static const uint8_t adds[] = LOOP(0x48, 0x83, 0xc0, 0x03);	  /* add rax,3 */
static const uint8_t multiplies[] = LOOP(0x48, 0x6b, 0xc0, 0x03); /* imul rax,rax,3 */
static const uint8_t mixes[] = LOOP(0x48, 0x31, 0xf8, 0x90);	  /* xor rax,rdi */
#define LOOP_AT 2
#endif

static int dump;

static void put(const void *bytes, size_t size)
{
	if (write(dump, bytes, size) != (ssize_t)size) {
		perror("jitdump");
		exit(1);
	}
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void put_record(uint32_t id, size_t size)
{
	struct {
		uint32_t id, size;
		uint64_t time;
	} header = {id, (uint32_t)(sizeof(header) + size), now()};

	put(&header, sizeof(header));
}

static void put_header(void)
{
	struct {
		uint32_t magic, version, size, machine, zero, pid;
		uint64_t time, flags;
	} header = {0x4a695444, 1, sizeof(header), MACHINE, 0, (uint32_t)getpid(), now(), 0};

	put(&header, sizeof(header));
}

/* The function starts in line `line` of FILE, its loop is in the one behind it. */
static void put_lines(const void *code, const char *file, uint32_t line)
{
	const uint64_t head[] = {(uint64_t)(uintptr_t)code, 2};
	const struct {
		uint64_t address;
		uint32_t line, discriminator;
	} lines[] = {{head[0], line, 0}, {head[0] + LOOP_AT, line + 1, 0}};

	put_record(2, sizeof(head) + sizeof(lines) + strlen(file) + 1 + 2);
	put(head, sizeof(head));
	put(&lines[0], sizeof(lines[0]));
	put(file, strlen(file) + 1);
	put(&lines[1], sizeof(lines[1]));
	put("\xff", 2);
}

static void put_load(const void *code, const char *name, uint64_t index)
{
	const uint32_t ids[] = {(uint32_t)getpid(), (uint32_t)getpid()};
	const uint64_t place[] = {(uint64_t)(uintptr_t)code, (uint64_t)(uintptr_t)code, SIZE,
				  index};

	put_record(0, sizeof(ids) + sizeof(place) + strlen(name) + 1 + SIZE);
	put(ids, sizeof(ids));
	put(place, sizeof(place));
	put(name, strlen(name) + 1);
	put(code, SIZE);
}

static void put_move(const void *from, const void *to, uint64_t index)
{
	const uint32_t ids[] = {(uint32_t)getpid(), (uint32_t)getpid()};
	const uint64_t place[] = {(uint64_t)(uintptr_t)to, (uint64_t)(uintptr_t)from,
				  (uint64_t)(uintptr_t)to, SIZE, index};

	put_record(1, sizeof(ids) + sizeof(place));
	put(ids, sizeof(ids));
	put(place, sizeof(place));
}

static void *map(int protection, int flags, int fd)
{
	void *page = mmap(NULL, PAGE, protection, MAP_PRIVATE | flags, fd, 0);

	if (page == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return page;
}

static uint64_t make_and_run(char *place, const void *code, const char *name, uint64_t index,
			     uint64_t turns)
{
	memcpy(place, code, SIZE);
	__builtin___clear_cache(place, place + SIZE);
	put_lines(place, "loops.source", (uint32_t)(10 * (index + 1)));
	put_load(place, name, index);
	return ((function)place)(turns);
}

int main(int argc, char **argv)
{
	uint64_t turns = argc > 1 ? strtoull(argv[1], NULL, 0) : 20000, sum;
	char name[64], *page, *other;

	snprintf(name, sizeof(name), "jit-%d.dump", (int)getpid());
	dump = open(name, O_CREAT | O_TRUNC | O_RDWR, 0600);
	if (dump < 0) {
		perror(name);
		return 1;
	}
	put_header();
	map(PROT_READ | PROT_EXEC, 0, dump);
	page = map(PROT_READ | PROT_WRITE | PROT_EXEC, MAP_ANONYMOUS, -1);
	other = map(PROT_READ | PROT_WRITE | PROT_EXEC, MAP_ANONYMOUS, -1);
	sum = make_and_run(page, adds, "adds", 0, turns);
	sum += make_and_run(page, multiplies, "multiplies", 1, turns);
	sum += make_and_run(page + PLACE, mixes, "mixes", 2, turns);
	memcpy(other, page + PLACE, SIZE);
	__builtin___clear_cache(other, other + SIZE);
	put_move(page + PLACE, other, 2);
	memset(page + PLACE, 0, SIZE);
	sum += ((function)other)(turns);
	put_record(3, 0);
	printf("%s %llx\n", name, (unsigned long long)sum);
	return 0;
}
