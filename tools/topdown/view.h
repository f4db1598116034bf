/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The data of `pesa topdown`, independent of the output (text, JSON, HTML): the nodes of the
 * hierarchy with their shares, the instructions that cost each node most, and the profile's parts
 * by symbol, line, thread, CPU or time.
 */
#ifndef TOOLS_TOPDOWN_VIEW_H
#define TOOLS_TOPDOWN_VIEW_H

#include "pesa/topdown_profile.h"
#include "tools/ui/listing.h"
#include "tools/ui/profile_input.h"

enum topdown_by {
	TOPDOWN_BY_NOTHING,
	TOPDOWN_BY_SYMBOL,
	TOPDOWN_BY_LINE,
	TOPDOWN_BY_THREAD,
	TOPDOWN_BY_CPU,
	TOPDOWN_BY_TIME,
	TOPDOWN_BY_COUNT
};

struct topdown_row {
	char *label;
	uint32_t dso;
	const struct pesa_symbol *symbol; /* by symbol; NULL: unknown */
	struct pesa_source source;	  /* by line */
	uint64_t slots[PESA_TOPDOWN_NODES_COUNT];
	struct pesa_topdown_group group; /* by thread, CPU, time */
	size_t index;			 /* of the group */
};

struct topdown_view {
	const struct profile_input *input;
	const struct pesa_topdown *topdown;
	struct listing_isas *isas;
	enum topdown_by by;
	unsigned int level, hottest; /* level of nodes; instructions shown per node */
	bool has_counts;
	struct pesa_topdown_counted counted;
	struct pesa_topdown_instruction *instruction;
	size_t instructions;
	struct topdown_row *row; /* most slots first; time slices in order */
	size_t rows;
};

/* Compute everything from input, topdown, by and level.  Free it in any case. */
struct pesa_error *topdown_view_make(struct topdown_view *view);
void topdown_view_free(struct topdown_view *view);

/* Return whether the node is shown and has no shown children. */
bool topdown_is_shown(const struct topdown_view *view, enum pesa_topdown_node node);
bool topdown_is_last(const struct topdown_view *view, enum pesa_topdown_node node);
/* List the shown nodes without children that have slots, largest first.  Returns their number. */
size_t topdown_last_nodes(const struct topdown_view *view,
			  enum pesa_topdown_node nodes[PESA_TOPDOWN_NODES_COUNT]);

/* Share of a node in a row's own slots. */
struct pesa_estimate topdown_row_share(const struct topdown_view *view,
				       const struct topdown_row *row, enum pesa_topdown_node node);
/* Share of a row in all slots. */
double topdown_row_part(const struct topdown_view *view, const struct topdown_row *row);

/* The instructions with the most slots in a node, at most view->hottest; returns their number. */
#define TOPDOWN_HOTTEST_MAX 100u
size_t topdown_hottest(const struct topdown_view *view, enum pesa_topdown_node node,
		       const struct pesa_topdown_instruction *found[TOPDOWN_HOTTEST_MAX]);
/* Share of an instruction's slots of a node in all slots. */
struct pesa_estimate topdown_instruction_share(const struct topdown_view *view,
					       const struct pesa_topdown_instruction *instruction,
					       enum pesa_topdown_node node);

/* Location and text of an instruction. */
struct topdown_location {
	const struct pesa_symbol *symbol; /* NULL: unknown */
	const char *dso;		  /* path of the binary */
	const char *name;		  /* function name, or the binary's base name */
	struct pesa_source source;
	struct listing_row row; /* its text */
};

void topdown_locate(const struct topdown_view *view,
		    const struct pesa_topdown_instruction *instruction,
		    struct topdown_location *location);

/* Advice on what to examine next: a sentence or two. */
const char *topdown_advice(enum pesa_topdown_node node);

/* Write the HTML page.  Returns NULL on success. */
struct pesa_error *topdown_write_html(const struct topdown_view *view, const char *path);

#endif
