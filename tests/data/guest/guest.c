// SPDX-License-Identifier: GPL-2.0-or-later
/* What a guest program can do to its recorder, one mode each: guest MODE [ARGUMENT]. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static int compare(const void *a, const void *b)
{
	return *(const int *)a < *(const int *)b ? -1 : *(const int *)a > *(const int *)b;
}

static unsigned int work(unsigned int seed)
{
	enum { COUNT = 3000 };
	int *numbers = malloc(COUNT * sizeof(*numbers));
	unsigned int sum = 0;

	for (int i = 0; i < COUNT; i++)
		numbers[i] = (int)((seed = seed * 1103515245 + 12345) >> 8);
	qsort(numbers, COUNT, sizeof(*numbers), compare);
	for (int i = 0; i < COUNT; i++)
		sum += (unsigned int)numbers[i] * (unsigned int)i;
	free(numbers);
	return sum;
}

static int mode_work(const char *argument)
{
	printf("%u\n", work((unsigned int)atoi(argument)));
	return 0;
}

static void *thread(void *seed)
{
	return (void *)(uintptr_t)work((unsigned int)(uintptr_t)seed);
}

static int mode_threads(const char *argument)
{
	pthread_t threads[16];
	uintptr_t sum = 0;
	int count = atoi(argument);

	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, thread, (void *)(uintptr_t)i);
	for (int i = 0; i < count; i++) {
		void *result;

		pthread_join(threads[i], &result);
		sum += (uintptr_t)result;
	}
	printf("%lu\n", (unsigned long)sum);
	return 0;
}

static void *short_thread(void *unused)
{
	for (volatile int i = 0; i < 2000; i = i + 1)
		;
	return unused;
}

/* One thread after the other, each much shorter than a sampling period. */
static int mode_short(const char *argument)
{
	for (int i = atoi(argument); i; i--) {
		pthread_t one;

		if (pthread_create(&one, NULL, short_thread, NULL))
			return 1;
		pthread_join(one, NULL);
	}
	return 0;
}

static int mode_fork(const char *argument)
{
	int status, sum = 0, count = atoi(argument);

	for (int i = 0; i < count; i++) {
		pid_t child = fork();

		if (!child)
			_exit((int)(work((unsigned int)i) & 63));
		waitpid(child, &status, 0);
		sum += WEXITSTATUS(status);
	}
	printf("%d\n", sum);
	return 0;
}

static int mode_exec(const char *argument)
{
	char *argv[] = {"renamed", "arguments", (char *)"two words", NULL};
	char *envp[] = {"ONLY=this", NULL};

	work(1);
	execve(argument, argv, envp);
	perror(argument);
	return 3;
}

static int mode_spawn(const char *argument)
{
	char *argv[] = {(char *)"spawned", (char *)"exit", (char *)"77", NULL};
	char *envp[] = {NULL};
	int status;
	pid_t child;

	if (posix_spawn(&child, argument, NULL, NULL, argv, envp))
		return 1;
	work(2);
	waitpid(child, &status, 0);
	return WEXITSTATUS(status);
}

/* Children that work side by side with their parent; the last one executes another program. */
static int mode_family(const char *argument)
{
	char *argv[] = {(char *)"guest", (char *)"work", (char *)"9", NULL};
	char *envp[] = {NULL};
	int status;

	for (int i = 0; i < 4; i++) {
		if (!fork()) {
			work((unsigned int)i);
			if (i == 3)
				execve(argument, argv, envp);
			if (i == 2 && !fork())
				work(10);
			while (wait(&status) > 0)
				;
			_exit(0);
		}
		work(5);
	}
	while (wait(&status) > 0)
		;
	return 0;
}

/* A process that leaves a child behind without a look back, as a daemon is started. */
static int mode_orphan(const char *argument)
{
	int ends[2];
	char byte;

	if (pipe(ends))
		return 1;
	if (!fork()) {
		if (!fork())
			work((unsigned int)atoi(argument));
		_exit(0);
	}
	close(ends[1]);
	/* Until the last of them has ended. */
	return (int)read(ends[0], &byte, 1);
}

static int mode_arguments(const char *unused)
{
	extern char **environ;

	(void)unused;
	for (char **word = environ; *word; word++)
		puts(*word);
	return 5;
}

static int mode_signal(const char *argument)
{
	work(1);
	fflush(stdout);
	raise(atoi(argument));
	return 0;
}

static int mode_crash(const char *unused)
{
	(void)unused;
	work(1);
	*(volatile int *)16 = 1;
	return 0;
}

static __attribute__((noinline)) int fall(int *where)
{
	return *where += 1;
}

static void *falling_thread(void *seed)
{
	uintptr_t sum = work((unsigned int)(uintptr_t)seed);

	return (void *)(sum + (uintptr_t)fall(sum ? (int *)16 : &(int){0}));
}

/* A thread faults while others work. */
static int mode_crash_thread(const char *unused)
{
	pthread_t threads[4];

	(void)unused;
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, i == 2 ? falling_thread : thread,
			       (void *)(uintptr_t)(i + 1));
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

static int mode_illegal(const char *unused)
{
	(void)unused;
	work(1);
	__asm__ volatile("unimp");
	return 0;
}

static sigjmp_buf back;
static volatile sig_atomic_t ticks;

static void on_crash(int number)
{
	siglongjmp(back, number);
}

static void on_tick(int number)
{
	(void)number;
	ticks = ticks + 1;
}

static int mode_handlers(const char *unused)
{
	volatile int caught = 0;

	(void)unused;
	signal(SIGSEGV, on_crash);
	signal(SIGILL, on_crash);
	signal(SIGUSR1, on_tick);
	for (volatile int i = 0; i < 20; i++) {
		if (sigsetjmp(back, 1))
			caught = caught + 1;
		else if (i % 2)
			*(volatile int *)(uintptr_t)(16 + 8 * i) = 1;
		else
			__asm__ volatile("unimp");
		kill(getpid(), SIGUSR1);
	}
	printf("%d %d\n", caught, (int)ticks);
	return 0;
}

static volatile sig_atomic_t faults;

/* Go on behind the instruction, which has four bytes. */
static void on_fault(int number, siginfo_t *info, void *context)
{
	(void)number, (void)info;
	((ucontext_t *)context)->uc_mcontext.__gregs[REG_PC] += 4;
	faults = faults + 1;
}

/* Seven accesses in a row of eleven instructions; returns how many of the others there were. */
static __attribute__((noinline)) long row(const uintptr_t *place)
{
	long others = 0;

	__asm__ volatile(".option push\n.option norvc\n"
			 "addi %0, %0, 1\n"
			 "lw t0, 0(%1)\n"
			 "addi %0, %0, 1\n"
			 "sw t0, 4(%2)\n"
			 "fld ft0, 8(%3)\n"
			 "addi %0, %0, 1\n"
			 "ld t1, 16(%4)\n"
			 "sd t1, 24(%5)\n"
			 "addi %0, %0, 1\n"
			 "lbu t2, 0(%6)\n"
			 "sb t2, 1(%7)\n"
			 ".option pop"
			 : "+r"(others)
			 : "r"(place[0]), "r"(place[1]), "r"(place[2]), "r"(place[3]),
			   "r"(place[4]), "r"(place[5]), "r"(place[6])
			 : "t0", "t1", "t2", "ft0", "memory");
	return others;
}

/* Faults in each place of a row: in one of them, in none, in all. */
static int mode_faults(const char *unused)
{
	const struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	uint64_t memory[4] = {0};
	long others = 0;

	(void)unused;
	sigaction(SIGSEGV, &action, NULL);
	for (int round = 0; round < 27; round++) {
		uintptr_t place[7];

		for (int i = 0; i < 7; i++)
			place[i] = round % 9 == i || round % 9 == 8 ? 32 : (uintptr_t)memory;
		others += row(place);
	}
	printf("%ld %d\n", others, (int)faults);
	return 0;
}

static int mode_spin(const char *argument)
{
	if (!strcmp(argument, "stubborn"))
		signal(SIGTERM, SIG_IGN);
	puts("spinning");
	fflush(stdout);
	for (volatile unsigned long i = 0; i + 1; i = i + 1)
		;
	return 0;
}

static int mode_echo(const char *unused)
{
	char buffer[4096];
	ssize_t size;

	(void)unused;
	while ((size = read(0, buffer, sizeof(buffer))) > 0)
		if (write(1, buffer, (size_t)size) != size)
			return 1;
	fprintf(stderr, "to standard error\n");
	return 0;
}

/* The lowest free descriptor is what it would be without a recorder; then close all there are. */
static int mode_descriptors(const char *unused)
{
	int first = dup(1);

	(void)unused;
	printf("%d\n", first);
	fflush(stdout);
	for (int i = 3; i < 4096; i++)
		close(i);
	return (int)(work(1) & 1) + 9;
}

/* Code that is written, run, and written over: the second time it is something else. */
static int mode_generated(const char *argument)
{
	uint32_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int sum = 0, count = atoi(argument);

	for (int i = 0; i < count; i++) {
		code[0] = 0x00000513 | (uint32_t)(i & 1023) << 20; /* li a0, i */
		code[1] = 0x00008067;				   /* ret */
		__builtin___clear_cache((char *)code, (char *)(code + 2));
		sum += ((int (*)(void))code)();
	}
	munmap(code, 4096);
	printf("%d\n", sum);
	return 0;
}

/* Strips of a vector addition; needs an emulator CPU with vectors. */
static int mode_vector(const char *unused)
{
	uint32_t a[100], b[100], sum = 0;
	size_t left = 100, done;

	(void)unused;
	for (unsigned int i = 0; i < 100; i++)
		a[i] = b[i] = i;
	for (uint32_t *x = a, *y = b; left; left -= done, x += done, y += done)
		__asm__ volatile(".option push\n.option arch, +v\n"
				 "vsetvli %0, %1, e32, m2, ta, ma\n"
				 "vle32.v v2, (%2)\n"
				 "vle32.v v4, (%3)\n"
				 "vadd.vv v2, v2, v4\n"
				 "vse32.v v2, (%2)\n"
				 ".option pop"
				 : "=&r"(done)
				 : "r"(left), "r"(x), "r"(y)
				 : "memory");
	for (unsigned int i = 0; i < 100; i++)
		sum += a[i];
	printf("%u\n", sum);
	return 0;
}

static int mode_rename(const char *argument)
{
	prctl(PR_SET_NAME, argument);
	return (int)(work(1) & 1);
}

static int mode_exit(const char *argument)
{
	return atoi(argument);
}

static const struct {
	const char *name;
	int (*run)(const char *argument);
} modes[] = {
	{"work", mode_work},
	{"threads", mode_threads},
	{"fork", mode_fork},
	{"short", mode_short},
	{"exec", mode_exec},
	{"arguments", mode_arguments},
	{"spawn", mode_spawn},
	{"orphan", mode_orphan},
	{"signal", mode_signal},
	{"crash", mode_crash},
	{"crash-thread", mode_crash_thread},
	{"family", mode_family},
	{"illegal", mode_illegal},
	{"handlers", mode_handlers},
	{"faults", mode_faults},
	{"spin", mode_spin},
	{"echo", mode_echo},
	{"descriptors", mode_descriptors},
	{"generated", mode_generated},
	{"rename", mode_rename},
	{"exit", mode_exit},
	{"vector", mode_vector},
};

int main(int argc, char **argv)
{
	if (!strcmp(argv[0], "renamed"))
		printf("%s|%s|%s\n", argv[0], argv[1], argc > 2 ? argv[2] : "");
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(modes[i].name, argv[1]))
			return modes[i].run(argc > 2 ? argv[2] : "1");
	fprintf(stderr, "guest: no such mode\n");
	return 2;
}
