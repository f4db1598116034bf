// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls of every kind, for call_chains.t, which knows who may call spin() and how deep.
 *
 * Functions do something after their calls, or the compiler would make tail calls of these.
 */
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#define ALONE extern "C" __attribute__((noinline, noclone, used))

static volatile unsigned sink;

ALONE void spin(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sink = sink * 3 + i;
}

/* ---- longjmp ---- */
static jmp_buf back, outer_back;

ALONE void deep(int n)
{
	char bytes[64];

	memset(bytes, n, sizeof(bytes));
	sink = sink + bytes[3];
	if (!n) {
		spin(700);
		longjmp(back, 1);
	}
	deep(n - 1);
	sink = sink + 1;
}

ALONE void jumps(void)
{
	for (int i = 0; i < 5; i++) {
		if (!setjmp(back))
			deep(5);
		spin(3000);
		sink = sink + 1;
	}
}

/* Each level has a setjmp() of its own; the innermost jumps to the outermost. */
ALONE void levels(int n)
{
	jmp_buf mine;

	if (!n) {
		spin(300);
		longjmp(outer_back, 1);
	}
	if (!setjmp(n == 3 ? outer_back : mine))
		levels(n - 1);
	else
		spin(900);
	sink = sink + 1;
}

/* ---- tail calls ---- */
ALONE void tail_end(unsigned n)
{
	spin(n);
	sink = sink + n;
}

ALONE void tail_begin(unsigned n)
{
	sink = sink + 1;
	tail_end(n + 1000);
}

ALONE void tails(void)
{
	for (int i = 0; i < 5; i++) {
		tail_begin((unsigned)i);
		sink = sink + 1;
	}
}

/* ---- exceptions ---- */
ALONE void thrower(int n)
{
	if (!n) {
		spin(300);
		throw 7;
	}
	thrower(n - 1);
	sink = sink + 1;
}

ALONE void catcher(void)
{
	for (int i = 0; i < 3; i++) {
		try {
			thrower(4);
		} catch (int) {
			spin(900);
			sink = sink + 1;
		}
		spin(500);
		sink = sink + 1;
	}
}

struct guard {
	~guard()
	{
		spin(400);
		sink = sink + 1;
	}
};

ALONE void cleanup(void)
{
	guard one;

	thrower(2);
	sink = sink + 1;
}

ALONE void cleaned(void)
{
	for (int i = 0; i < 3; i++)
		try {
			cleanup();
		} catch (...) {
			spin(350);
			sink = sink + 1;
		}
}

/* ---- signals ---- */
static sigjmp_buf out;

ALONE void on_signal(int number)
{
	spin(600);
	sink = sink + (unsigned)number;
}

ALONE void on_jump(int number)
{
	spin(450);
	siglongjmp(out, number);
}

ALONE void on_alarm(int number)
{
	spin(50);
	sink = sink + (unsigned)number;
}

ALONE void raises(void)
{
	for (int i = 0; i < 4; i++) {
		raise(SIGUSR1);
		spin(250);
		sink = sink + 1;
	}
}

ALONE void leaves_handler(void)
{
	for (int i = 0; i < 4; i++) {
		if (!sigsetjmp(out, 1))
			raise(SIGUSR2);
		spin(650);
		sink = sink + 1;
	}
}

ALONE unsigned busy(unsigned n)
{
	return n < 2 ? n : busy(n - 1) + busy(n - 2);
}

ALONE void alarms(void)
{
	struct itimerval every = {{0, 2000}, {0, 2000}}, never = {};

	setitimer(ITIMER_REAL, &every, nullptr);
	sink = sink + busy(19);
	setitimer(ITIMER_REAL, &never, nullptr);
	spin(150);
	sink = sink + 1;
}

/* ---- coroutines ---- */
static ucontext_t caller, coroutine;
static char stack[65536];

ALONE void body(void)
{
	for (;;) {
		spin(550);
		swapcontext(&coroutine, &caller);
	}
}

ALONE void coroutines(void)
{
	getcontext(&coroutine);
	coroutine.uc_stack.ss_sp = stack;
	coroutine.uc_stack.ss_size = sizeof(stack);
	makecontext(&coroutine, body, 0);
	for (int i = 0; i < 4; i++) {
		swapcontext(&caller, &coroutine);
		spin(750);
		sink = sink + 1;
	}
}

/* ---- threads, recursion, calls from the C library ---- */
ALONE unsigned fib(unsigned n)
{
	if (n < 2) {
		spin(20);
		return n;
	}
	return fib(n - 1) + fib(n - 2);
}

ALONE void *thread(void *argument)
{
	spin(1000);
	sink = sink + fib(7);
	return argument;
}

ALONE void threads(void)
{
	pthread_t one[2];

	for (pthread_t &of : one)
		pthread_create(&of, nullptr, thread, nullptr);
	for (pthread_t of : one)
		pthread_join(of, nullptr);
}

ALONE int compare(const void *left, const void *right)
{
	spin(5);
	return *(const int *)left - *(const int *)right;
}

ALONE void sorts(void)
{
	int value[100];

	for (int i = 0; i < 100; i++)
		value[i] = (i * 7919) % 101;
	qsort(value, 100, sizeof(int), compare);
	sink = sink + (unsigned)value[3];
}

int main()
{
	static char alternative[65536];
	stack_t other = {};
	struct sigaction action = {};

	other.ss_sp = alternative;
	other.ss_size = sizeof(alternative);
	sigaltstack(&other, nullptr);
	action.sa_handler = on_signal;
	sigaction(SIGUSR1, &action, nullptr);
	action.sa_handler = on_alarm;
	sigaction(SIGALRM, &action, nullptr);
	action.sa_handler = on_jump;
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR2, &action, nullptr);
	jumps();
	levels(3);
	tails();
	catcher();
	cleaned();
	raises();
	leaves_handler();
	alarms();
	coroutines();
	threads();
	sorts();
	spin(800);
	printf("%u\n", sink);
}
