/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call stack: the exact call chain of a hart, from the instructions that it executed.
 *
 * Calls push a frame with their return address, and the return to it pops the frame.  A jump to
 * another function (a tail call) changes nothing.  The stack pointer tells what else has left frames
 * or entered some.  Registers are not visible to the virtual core, but the addresses of accesses are:
 * a load or store of `offset(sp)` gives the value of sp, and `addi sp, sp, N` changes a known value.
 * Where a program stores sp (setjmp()) its value is noted, for the load that takes it back (longjmp()).
 * After any other write of sp (the end of an exception's search) its value is unknown up to the next
 * access; what was added to it until then is counted, so that its value at the write is known
 * afterwards.
 *
 * Each frame has sp as it was at the call.  A function that calls has saved its return address and so
 * has moved sp below that, hence after a jump that leaves frames those are gone whose sp is not above
 * the new one.
 *
 * A signal is delivered between two instructions: execution continues at a handler that the program
 * has set.  It pushes a frame too, with the interrupted address; sigreturn pops it, and what is above
 * it.  A handler on a stack of its own (sigaltstack()) is known by its addresses.
 *
 * A jump to a stack that none of the frames is on (a coroutine) starts a new chain; the old one is
 * kept for the jump back, to the same value of sp.
 */
#ifndef TOOLS_VCORE_STACK_CALL_STACK_H
#define TOOLS_VCORE_STACK_CALL_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/error.h"
#include "pesa/riscv.h"

/* What an instruction does with the stack pointer. */
enum stack_use {
	STACK_USE_NONE,
	STACK_USE_ACCESS, /* accesses memory at sp + offset */
	STACK_USE_ADD,	  /* adds the offset to sp */
	STACK_USE_LOAD,	  /* loads sp from its access */
	STACK_USE_SET,	  /* writes sp in another way */
};
#define STACK_USE_MASK	 7u
#define STACK_USE_SAVES	 8u  /* flag: stores sp at its access */
#define STACK_USE_STORES 16u /* flag: stores something there */

/* An enum stack_use and flags; *offset: bytes. */
uint8_t stack_use_of(const struct pesa_insn *insn, int32_t *offset);

/* An instruction that was executed. */
struct call_step {
	uint64_t pc, next; /* next: pc of the instruction executed after it */
	uint64_t target;   /* of a direct transfer; 0: none */
	uint64_t address;  /* of its first access */
	int32_t offset;	   /* of its use of sp */
	uint8_t use;	   /* of sp: enum stack_use and flags */
	uint8_t flow;	   /* enum pesa_flow */
	uint8_t length;	   /* bytes */
	bool accessed;	   /* `address` is valid */
	bool faulted;	   /* raised an exception */
	bool handler;	   /* `next` is the address of a signal handler */
};

struct call_frame {
	uint64_t return_address; /* of a signal: the interrupted address + 1, since readers of call
				  * chains look up the byte before a return address */
	uint64_t entry;		 /* of the function that was called; of a signal: 0 */
	uint64_t sp;		 /* at the call; of a signal: at the begin of the handler */
	uint64_t saved_sp;	 /* of a signal: when it came */
	bool sp_known;		 /* otherwise sp is what was added since it became unknown */
	bool epoch_open;	 /* `sp` waits for the value at the last unknown write */
	bool signal, saved_known;
};

/* Where sp was stored, by a hash of the address; the newest one with the same hash is kept. */
#define CALL_STACK_SAVED 1024u

/* Stacks that were left by a jump to another one. */
#define CALL_STACK_OTHERS 256u

struct other_stack {
	struct call_frame *frame; /* NULL: none */
	size_t count;
	uint64_t sp; /* when it was left */
};

struct saved_sp {
	uint64_t address, sp;
};

struct call_stack {
	struct call_frame *frame; /* outermost first */
	size_t count, room;
	uint64_t sp; /* known, or what was added since it became unknown */
	bool sp_known;
	uint64_t
		trampoline; /* to which handlers return, and which calls sigreturn; 0: none was seen */
	bool moved;	    /* sp was written and execution has not jumped since */
	bool left;	    /* sp was written to an unknown value, and execution jumped: frames may
			    * have been left */
	size_t left_at;	    /* frames at that jump */
	bool last_known;
	uint64_t last_sp; /* known value before it became unknown */
	struct other_stack other[CALL_STACK_OTHERS];
	unsigned int next_other;
	struct saved_sp *saved; /* CALL_STACK_SAVED of them; NULL: none yet */
};

/* Execute an instruction. */
struct pesa_error *call_stack_step(struct call_stack *stack, const struct call_step *step);
/* Whether the value of sp is wanted, because frames may have been left.  It becomes known by
 * call_stack_learn(), with the value that sp has before the next step. */
static inline bool call_stack_wants_sp(const struct call_stack *stack)
{
	return stack->left && !stack->sp_known;
}
struct pesa_error *call_stack_learn(struct call_stack *stack, uint64_t sp);
/* The value of sp is wanted and not to be had soon: by the address `pc` that execution jumped to, keep
 * the frames up to that of the function whose begin is nearest before it. */
void call_stack_guess(struct call_stack *stack, uint64_t pc);
void call_stack_free(struct call_stack *stack);

#endif
