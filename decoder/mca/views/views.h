/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Views: listeners that collect data of a run and print it in llvm-mca's format.
 *
 * A view is created for a block, its listener is passed to pesa_mca_run(), then it prints.  Views
 * use the model and the events, not the engine.
 */
#ifndef PESA_MCA_VIEWS_H
#define PESA_MCA_VIEWS_H

#include <stdio.h>

#include <json-c/json.h>

#include "pesa/csr.h"
#include "pesa/mca.h"

/* Views add up what repeats itself. */
#define MCA_VIEW_REPEATS (1u << PESA_MCA_PERIOD_BEGIN | 1u << PESA_MCA_REPEATED)

/* Text with columns, as LLVM counts them (tabs are 8 wide). */
struct mca_text {
	FILE *stream;
	unsigned int column;
	bool colours; /* highlight as llvm-mca does, by escape sequences */
};

/* Highlights, with LLVM's escape sequences.  They take no columns, and are omitted without
 * colours. */
enum mca_highlight {
	MCA_PLAIN,
	MCA_BOLD,
	MCA_RED,
	MCA_YELLOW,
	MCA_MAGENTA,
	MCA_CYAN,
};
void mca_highlight(struct mca_text *text, enum mca_highlight highlight);

void mca_print(struct mca_text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Text without a format. */
void mca_put_text(struct mca_text *text, const char *string);
/* As "%.2f" with mca_round(value, 2), of a value that is not negative. */
void mca_put_hundredths(struct mca_text *text, double value);
/* One visible character; a timeline is thousands of them. */
void mca_put(struct mca_text *text, int character);
/* Pad with spaces up to a column, at least one. */
void mca_pad(struct mca_text *text, unsigned int column);

/* Input of views besides events. */
struct mca_view_context {
	const struct pesa_mca_block *block;
	const struct pesa_mca_model *model;
	const char *const *text;	     /* assembly text, by instruction of the block */
	const char *const *comment;	     /* comments in the source; NULL for one or all: none */
	const struct pesa_insn *const *insn; /* the instructions, for encodings */
	const uint64_t *address;	     /* by instruction; NULL: none */
	unsigned int count;		     /* number of instructions in the block */
	unsigned int iterations;
	uint64_t cycles;				   /* of the run, after its end */
	unsigned int dispatch_width;			   /* 0: the model's */
	bool encodings, barriers, full;			   /* of the instruction view */
	unsigned int timeline_iterations, timeline_cycles; /* 0: unlimited */
};

struct mca_view {
	const struct mca_view_context *context;
	struct pesa_mca_listener listener; /* kinds 0: no events */
	const char *name;		   /* key of its JSON object; NULL: none */
	void (*print)(struct mca_view *view, struct mca_text *text);
	struct json_object *(*json)(struct mca_view *view);
	void (*free)(struct mca_view *view);
	void *state;
};

/* Each function creates a view, which must be freed after an error, too. */
struct pesa_error *mca_view_summary(struct mca_view *view, const struct mca_view_context *context);
struct pesa_error *mca_view_information(struct mca_view *view,
					const struct mca_view_context *context);
struct pesa_error *mca_view_dispatch(struct mca_view *view, const struct mca_view_context *context);
struct pesa_error *mca_view_scheduler(struct mca_view *view,
				      const struct mca_view_context *context);
struct pesa_error *mca_view_retire(struct mca_view *view, const struct mca_view_context *context);
struct pesa_error *mca_view_registers(struct mca_view *view,
				      const struct mca_view_context *context);
struct pesa_error *mca_view_pressure(struct mca_view *view, const struct mca_view_context *context);
struct pesa_error *mca_view_timeline(struct mca_view *view, const struct mca_view_context *context);
/* Not in llvm-mca: shows the result of pesa_mca_cycle_stack_create(). */
struct pesa_error *mca_view_cycle_stack(struct mca_view *view,
					const struct mca_view_context *context);
struct pesa_error *mca_view_bottleneck(struct mca_view *view,
				       const struct mca_view_context *context);

/* Resource pressure without a run: the demands of each instruction, spread over the units. */
struct pesa_error *mca_view_tables(struct mca_view *view, const struct mca_view_context *context);

/* One row of a cycle stack: an instruction with all its repetitions in the block. */
struct mca_stack_row {
	uint64_t address;
	unsigned int index; /* index of the first occurrence in the block */
	uint64_t executions;
	struct pesa_mca_bucket buckets[PESA_MCA_BUCKETS_MAX];
	unsigned int bucket_count;
};
/* A row for each instruction, or for each address, in order.  Owned by the caller; NULL: out of
 * memory. */
struct mca_stack_row *mca_stack_rows(const struct mca_view_context *context,
				     const struct pesa_mca_cycle_stack *stack, unsigned int *count);
/* Weights by state, and all buckets as {state: {cause: cycles}} with the sum of the weights. */
void mca_stack_row_states(const struct mca_stack_row *row, uint64_t weights[PESA_STATE_COUNT]);
struct json_object *mca_stack_row_json(const struct mca_stack_row *row, uint64_t *weight);

/* Add to a JSON object, with values as LLVM prints them.  If out of memory the member is
 * missing. */
void mca_json_number(struct json_object *object, const char *key, double value);
void mca_json_integer(struct json_object *object, const char *key, int64_t value);
void mca_json_boolean(struct json_object *object, const char *key, bool value);

/* Round half up to `digits` decimal places, as the views do before printing. */
double mca_round(double value, unsigned int digits);
void mca_view_free_state(struct mca_view *view);

#endif
