/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of `pesa compare` share: the options, the input, the comparison.
 */
#ifndef TOOLS_COMPARE_COMPARISON_H
#define TOOLS_COMPARE_COMPARISON_H

#include "pesa/compare.h"
#include "pesa/timed_compare.h"
#include "tools/names/match.h"
#include "tools/ui/profile_input.h"

enum compare_format {
	COMPARE_TEXT,
	COMPARE_TABLEGEN, /* what to change in LLVM */
	COMPARE_EXEGESIS, /* benchmarks for llvm-exegesis */
};

struct compare_options {
	struct profile_input_options input;
	const char *
		cpu; /* a processor, or FILE.model[:NAME]; NULL: the one that the recording names */
	const char *model; /* a file */
	const char *write_model, *html, *symbol;
	const char *llvm; /* folder of a checkout; NULL: none */
	enum compare_format format;
	double min_share;
	bool blocks; /* timed branches, also where samples tell more */
};

struct listing_isas;

struct comparison {
	const struct compare_options *wanted;
	struct profile_input input;
	const char *cpu;  /* whose model it is */
	char *model_path; /* NULL: a built-in one */
	struct pesa_mca_model *model;
	const struct pesa_mca_processor *processor;
	struct pesa_compare_core core;
	struct listing_isas *isas;
	bool core_known;	      /* the description that the recording names was found */
	struct pesa_compare *compare; /* NULL: timed branches are compared */
	struct pesa_timed_compare *timed;
	struct name_search search; /* for wanted->symbol */
};

/* Parameters of the recording's core description that a model lacks.  Without the description, which is
 * said, they stay unknown. */
struct pesa_error *compare_describe_core(const struct pesa_capabilities *capabilities,
					 struct pesa_compare_core *core, bool *known);
/* Choose the model and what is known of the core, by the options (cpu, model), else by what the
 * recording names.  Fills cpu, model_path, model, processor, core and core_known; to be released in any
 * case. */
struct pesa_error *compare_choose(struct comparison *comparison);
/* Choose, and compare.  `min_share`, `no_findings`: as in struct pesa_compare_options. */
struct pesa_error *compare_make(struct comparison *comparison, double min_share, bool no_findings);
void compare_release(struct comparison *comparison);
/* Whether the code of a function is wanted (--symbol); NULL: of none. */
bool compare_wants(const struct comparison *comparison, const char *symbol);
/* The disassembled text of an instruction. */
void compare_text_of(const struct comparison *comparison,
		     const struct pesa_compare_instruction *instruction, char *buffer, size_t size);

/* The disassembled text of the instruction at an address. */
void compare_text_at(const struct comparison *comparison, const struct pesa_compare_place *place,
		     char *buffer, size_t size);
/* A sentence on a kind of ordering instructions, with its share of the cycles. */
void compare_ordering_text(const struct comparison *comparison,
			   const struct pesa_compare_ordering *ordering, char *buffer, size_t size);
/* "WriteIMul latency", "c12 on Div resource", "LDST units"; "MUL,MULW latency" of some opcodes alone. */
void compare_finding_name(const struct pesa_compare_finding *finding, char *buffer, size_t size);
/* "moved: mul, mulw; hidden: mulh; not executed: mulhu"; empty for units. */
void compare_opcodes_text(const struct comparison *comparison, unsigned int finding, char *buffer,
			  size_t size);
/* "waits for a store": a load that is predicted to; "slow, or a load waits"; "". */
const char *compare_waiting(enum pesa_compare_waiting waiting);
/* A sentence on what was chosen by the measurement; false: all is as the code says. */
bool compare_chosen_text(const struct comparison *comparison, char *buffer, size_t size);
/* A sentence on the differences that no finding explains; false: there are none. */
bool compare_unexplained_text(const struct comparison *comparison, char *buffer, size_t size);

/* "slower": more cycles measured than predicted; "faster"; "": they agree; "too few". */
const char *compare_verdict(enum pesa_compare_verdict verdict);
/* The same for a reader of a difference that is shown in steps of `step`: "" where it is shown as 0. */
const char *compare_shown_verdict(enum pesa_compare_verdict verdict, double difference,
				  double step);

/* Write the model with the findings corrected to wanted->write_model. */
struct pesa_error *compare_write_model(const struct comparison *comparison);
/* Write the page to wanted->html. */
struct pesa_error *compare_write_html(const struct comparison *comparison);
void compare_print(const struct comparison *comparison, struct ui_terminal *terminal);
void compare_json(const struct comparison *comparison);
/* Compare the timed branches, after compare_choose(). */
struct pesa_error *compare_timed(struct comparison *comparison);
/* Find out what --symbol means among the functions of the blocks.  False: none of them is shown, after a
 * message. */
bool compare_timed_has_wanted(struct comparison *comparison);
void compare_timed_print(const struct comparison *comparison, struct ui_terminal *terminal);
void compare_timed_json(const struct comparison *comparison);

#endif
