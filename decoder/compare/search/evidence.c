/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The evidence for each finding: which part of the differences it explains, among the instructions
 * whose prediction it changes.  A wrong entry of the model explains nearly all of them, once the
 * other findings are in the model.  A coincidental match leaves many differences, or causes new
 * ones.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/compare/search/search.h"
#include "decoder/compare/search/together.h"
#include "decoder/compare/search/traces.h"

/* Minimum share of the remaining differences that a finding must explain: next to large errors of
 * the engine, a small difference cannot be distinguished from chance. */
#define LEFT_MOST	0.7
#define LEFT_LEAST	0.15
#define LEFT_DEVIATIONS 12.0 /* standard errors from which LEFT_LEAST is enough */
/* The same of a finding that explains nearly all of what it touches, of instructions and of blocks, in
 * several blocks. */
#define LEFT_EXPLAINED	       0.9
#define LEFT_EXPLAINED_SEVERAL 6.0
/* And of one that explains most of it, on more than one block. */
#define LEFT_MOSTLY	       0.8
#define LEFT_MOSTLY_DEVIATIONS 8.0

/*
 * A finding that hardly moves the program as a whole makes some instructions as much faster as others
 * slower.  That is mostly chance, unless it explains most of what is wrong in several blocks; or nearly
 * all of a large part of the program, as which instruction of a block waits (but only moves time between
 * blocks that follow each other, see below).
 */
#define STILL_BLOCKS	   1.9 /* effective number of blocks */
#define STILL_DEVIATIONS   7.0
#define STILL_SHARE	   0.02 /* of the core time, in differences of instructions */
#define STILL_EXPLAINED	   0.7	/* of instructions and of blocks */
#define STILL_TRACES	   0.5	/* likewise, of blocks that follow each other */
#define STILL_LARGE	   0.1	/* of the core time, likewise */
#define STILL_INSTRUCTIONS 0.95 /* explained, of instructions alone */

/*
 * A finding that explains the differences of instructions, and next to nothing of those of basic
 * blocks, only moves time within blocks, which the engine may do by itself.  Then it must explain
 * nearly all of it.
 */
#define WITHIN_BLOCKS	 0.2 /* of what it explains of instructions */
#define WITHIN_EXPLAINED 0.85

/*
 * Whether the time of a wait is in one block, or in the next one that follows nearly always, the engine
 * does not tell for certain.  A finding that leaves most of what such blocks differ by together only moves
 * time between them, unless it explains nearly all of their instructions.
 */
#define BETWEEN_TRACES	   0.25 /* part explained of traces */
#define BETWEEN_EXPLAINED  0.85 /* of instructions */
#define BETWEEN_DEVIATIONS 15.0 /* from which it is no chance */
#define ALONE_BETWEEN	   20.0 /* the same, of the only finding, or one that hardly moves the program */

/*
 * A number that becomes worse and makes the program faster: in order the one may keep the other from waiting.
 * Out of order it is an accident of which instruction is served first: it needs more certainty, and explains
 * most of what it touches.
 */
#define PARADOX_LEAST	   0.003 /* of the core time */
#define PARADOX_DEVIATIONS 9.0
#define PARADOX_EXPLAINED  0.8 /* of instructions and of blocks */
/* One that does so for so large an effect is none. */
#define PARADOX_LARGE 0.1 /* of the core time */

/*
 * What makes all differences so much likelier, less the penalty for the size of the change, is no accident,
 * if it also explains a part of them: no finding in an unmodified program did.
 */
#define LIKELY		    70.0 /* twice the logarithm */
#define LIKELY_DEVIATIONS   5.0
#define LIKELY_INSTRUCTIONS 0.4 /* part explained */
#define LIKELY_BLOCKS	    0.0 /* likewise: they do not become worse */

/* Which evidence is enough on which cores.  Out of order it is often chance which instruction of a
 * block waits.  In order it is not, but one block may have many other reasons; and a change of a whole
 * entry that explains blocks, and not their instructions, is often one of a single opcode.  Of single
 * opcodes there are so many candidates that some explain a block by chance. */
enum where { ANYWHERE, OUT_OF_ORDER, IN_SEVERAL_BLOCKS, IN_SEVERAL_BLOCKS_AT_LAST };

/* Of one basic block nearly all has to be explained: a coincidence is more likely there. */
#define BLOCKS_ONE	 1.5 /* effective number of blocks */
#define ONE_INSTRUCTIONS 0.6 /* parts explained */
#define ONE_BLOCKS	 0.75
#define ONE_ALL		 0.8   /* of the block, whatever of its instructions */
#define ONE_DEVIATIONS	 5.0   /* planted ones have ten and more */
#define ONE_LEAST	 0.012 /* of the core time */
/* Of a number: an engine is wrong by less in many a block (a loop of 35.5 cycles around a division of 34). */
#define ONE_STEP_LEAST 0.1
/* In few blocks, the same where the instruction holds a unit for so many cycles that short ones may take, too:
 * which of these come between decides when it begins, and cores book units in their own ways. */
#define ONE_SHARED_CYCLES 4
#define ONE_SHARED_STEP	  1.0
#define UNITS_MISFIT	  0.1 /* of regions, with which a number of units is no finding */
/* How often a block ran is an estimate itself, but not wrong by so much.  Where it is no chance either which
 * instruction waits, in order, fewer standard errors are enough, with nearly all explained. */
#define ONE_LARGE	      0.05 /* of the core time */
#define ONE_LARGE_EXPLAINED   0.9  /* of instructions and of the block */
#define ONE_LARGE_EXACTLY     0.95 /* the same, out of order: engines are less exact there */
#define ONE_LARGEST	      0.08 /* of the core time */
#define ONE_LARGEST_EXPLAINED 0.8

/*
 * What a finding that lacks evidence moves within blocks is wrong again without it, beside all that the
 * others explain.  So if one explains so much of its blocks, its instructions count as with all findings.
 */
#define BESIDE_BLOCKS 0.8
/* Of the core time, by which a finding moves the program that keeps its evidence when another one of those that
 * are right together is taken back. */
#define BESIDE_LEAST 0.02
/* One that explains all that it touches beside the others is right even if much is wrong there without
 * these. */
#define EXACT		 0.95 /* parts explained beside the others */
#define EXACT_DEVIATIONS 12.0
#define EXACT_BLOCKS	 0.5 /* explained without them */
/* The same of a large effect, if it explains most beside the others. */
#define LARGE		 0.1 /* of the core time */
#define LARGE_BESIDE	 0.8 /* parts explained beside the others */
#define LARGE_DEVIATIONS 7.0

/*
 * Several wrong entries in few basic blocks have few standard errors each.  Where blocks differed by much,
 * and next to nothing is left with all findings in the model, fewer are enough.
 */
#define ALL_LEAST	 0.1  /* of the core time, by which blocks differed */
#define ALL_LEFT	 0.1  /* of that */
#define ALL_OWN		 0.02 /* of the core time, by which the finding explains blocks */
#define ALL_DEVIATIONS	 3.5
#define ALL_INSTRUCTIONS 0.6 /* parts explained */
#define ALL_BLOCKS	 0.8

/* What is enough beside findings that are right together. */
static const struct {
	double instructions, blocks, traces; /* parts explained */
	double deviations, own;		     /* of the core time, in differences of instructions */
} enough_together[] = {
	{0.6, 0.6, 0.25, 4.2, 0},	 /* most of all that it touches */
	{0.5, 0.9, 0.5, 4.5, 0.02},	 /* nearly all of blocks */
	{0.75, 0.6, -INFINITY, 5, 0.02}, /* of blocks that follow each other it may leave all */
	{0.9, -INFINITY, -INFINITY, 9, 0.05}, /* instructions of one block */
	{0.5, 0.3, -INFINITY, 15, 0.02},      /* too certain for chance */
};

/*
 * Findings that explain so much, and make all differences so much likelier, are of a model that is
 * wrong: in 743 runs of unmodified programs on cores that are out of order what explained that
 * much did it by 94 at most, but for a step of one cycle in 35 in one block, and what only moved
 * time between blocks that follow each other. What is left is mostly that some wrong numbers were
 * not found, or with other values. So a finding is enough that is likely beside the others, and
 * explains a part.
 */
#define CERTAIN_LIKELIER     100.0 /* twice the logarithm, less the penalties */
#define CERTAIN_INSTRUCTIONS 0.35  /* parts explained by all findings */
#define CERTAIN_BLOCKS	     0.3
#define CERTAIN_OWN	     40.0 /* twice the logarithm, less the penalty, beside the others */
#define CERTAIN_OWN_PART     0.2  /* explained of instructions; of blocks it makes nothing worse */
#define CERTAIN_DEVIATIONS   3.5
#define CERTAIN_LEAST	     0.01 /* of the core time, in differences of instructions */
/* Explained of blocks that follow each other, of what hardly moves the program: it makes them no worse. */
#define CERTAIN_TRACES (-0.1)
/* Whatever part is explained. */
#define MOST_LIKELIER 300.0
#define MOST_OWN_PART 0.1
/* One that is so likely beside the others does not only move time between blocks that follow each other. */
#define CERTAIN_ALONE 100.0
/* Nor within blocks, if it explains a part of these, and of instructions makes nothing worse. */
#define CERTAIN_WITHIN 200.0
#define CERTAIN_WORSE  (-0.1) /* explained of instructions */
/* Where nearly all instructions are explained, one is as likely as it is by itself. */
#define NEARLY_INSTRUCTIONS 0.85
#define NEARLY_BLOCKS	    0.3
#define NEARLY_OWN	    30.0
#define NEARLY_OWN_PART	    0.35 /* of instructions or of blocks */
#define NEARLY_DEVIATIONS   2.5

/*
 * Out of order, wrong findings in unmodified programs hardly make the differences likelier: by 1
 * to 51 in eight of eleven in 743 runs. Those of planted deviations do so more, or explain nearly
 * all of some part of the program.
 */
#define UNLIKELY	   25.0
#define UNLIKELY_SMALL	   55.0 /* of what moves the program by less than the following */
#define UNLIKELY_LARGE	   0.05 /* of the core time */
#define UNLIKELY_TOGETHER  0.6	/* of instructions, explained by all findings, and */
#define UNLIKELY_BLOCKS	   0.9	/* of blocks, with which the first limit does not count */
#define UNLIKELY_EXPLAINED 0.8	/* of instructions, and of blocks */
#define UNLIKELY_BOTH	   1.7	/* their sum */
#define UNLIKELY_LEAST	   0.02 /* of the core time, in differences of instructions */

/*
 * In order it is no chance which instruction waits, and next to nothing of unmodified programs is
 * explained by a wrong model: in 87 of them one change had to be refused, with 3.2 standard errors.
 */
#define IN_ORDER_DEVIATIONS   4.5
#define IN_ORDER_INSTRUCTIONS 0.55 /* parts explained */
#define IN_ORDER_BLOCKS	      0.5
#define IN_ORDER_TRACES	      0.2
#define IN_ORDER_LEFT	      0.3  /* of what all blocks differ by together */
#define IN_ORDER_LIKELY	      20.0 /* twice the logarithm, for all differences */

/*
 * Where nothing waits by choice, what differs in few basic blocks may be such a wait, but not if a latency of
 * instructions that are no loads or stores explains all of it, and nothing else is left.
 */
#define PLAIN_EXPLAINED	 0.95 /* of instructions and of blocks */
#define PLAIN_TRACES	 0.9
#define PLAIN_DEVIATIONS 5.0
#define PLAIN_LEAST	 0.05 /* of the core time, in differences of instructions */
#define PLAIN_LEFT	 0.01 /* of the core time, of all blocks */

/* What leaves as much as it explains, of instructions and of blocks, has to be there with more certainty. */
#define HALF		0.6 /* parts explained */
#define HALF_DEVIATIONS 9.0

/*
 * Measured with tests/accuracy/trials.py: of the findings in unmodified programs most explain less,
 * of those that name a planted deviation nearly all explain more.
 */
static const struct {
	double instructions, blocks; /* parts explained */
	double deviations;
	enum where where;
} enough[] = {
	{0.6, 0.15, 4.2, ANYWHERE},
	{0.6, -0.1, 10, ANYWHERE},
	{0.45, 0.15, 4.2, IN_SEVERAL_BLOCKS},
	{0.3, 0.2, 8, ANYWHERE},
	{0.8, 0.8, 3.5, ANYWHERE},
	{0.95, 0.95, 3, ANYWHERE},
	{0.1, 0.7, 4.2, OUT_OF_ORDER},
	{0.05, 0.7, 6, IN_SEVERAL_BLOCKS_AT_LAST},
};

static struct pesa_compare_finding *finding_of(const struct compare_search *search,
					       const struct compare_candidate *candidate)
{
	return &search->compare->finding[candidate->finding];
}

/* Whether evidence of this kind is enough here. */
static bool holds(const struct compare_search *search, const struct compare_candidate *candidate,
		  const struct compare_touched *touched, enum where where)
{
	if (where == ANYWHERE)
		return true;
	if (pesa_mca_model_is_out_of_order(search->original))
		return where != IN_SEVERAL_BLOCKS_AT_LAST &&
		       (where != OUT_OF_ORDER || !candidate->opcodes);
	if (where == OUT_OF_ORDER || (where == IN_SEVERAL_BLOCKS_AT_LAST && !search->opcodes_tried))
		return false;
	return compare_is_in_blocks(touched, COMPARE_BLOCKS_SEVERAL);
}

/* Whether a finding may be chance that leaves most of what blocks which follow each other differ
 * by; with so many standard errors it is none. */
static bool leaves_traces(const struct pesa_compare_finding *finding, double deviations)
{
	return finding->explained_traces < BETWEEN_TRACES && finding->deviations < deviations;
}

/* Whether the evidence is enough for a finding that hardly moves the program. */
static bool is_enough_still(const struct compare_search *search,
			    const struct compare_candidate *candidate,
			    const struct compare_touched *touched)
{
	const struct pesa_compare_finding *finding = finding_of(search, candidate);
	double of_nodes = touched->node[1] - touched->node[0];

	if (finding->deviations < STILL_DEVIATIONS || !compare_is_in_blocks(touched, STILL_BLOCKS))
		return false;
	return (of_nodes >= STILL_SHARE * search->core && finding->explained >= STILL_EXPLAINED &&
		finding->explained_blocks >= STILL_EXPLAINED &&
		finding->explained_traces >= STILL_TRACES) ||
	       (of_nodes >= STILL_LARGE * search->core &&
		finding->explained >= STILL_INSTRUCTIONS && !leaves_traces(finding, ALONE_BETWEEN));
}

/* Whether instructions that hold a unit for long share it with others that may take another one. */
static bool holds_a_shared_unit(const struct pesa_mca_model *model, unsigned int class)
{
	const struct mca_class *costs = &model->classes[class];

	for (unsigned int i = 0; i < costs->uses; i++) {
		const struct pesa_mca_use *use = &model->uses[costs->use + i];

		if (use->release < ONE_SHARED_CYCLES || model->resources[use->resource].group)
			continue;
		for (unsigned int k = 0; k < model->resource_count; k++)
			if (model->resources[k].group &&
			    compare_is_member(&model->resources[k], use->resource))
				return true;
	}
	return false;
}

/* Whether a finding is on few basic blocks, where cores may give units in another order. */
static bool is_chance_of_units(const struct compare_search *search,
			       const struct compare_candidate *candidate,
			       const struct compare_touched *touched)
{
	int step = abs(candidate->model_value - candidate->base_value);

	return pesa_mca_model_is_out_of_order(search->original) &&
	       candidate->kind != PESA_COMPARE_UNITS &&
	       !compare_is_in_blocks(touched, COMPARE_BLOCKS_SEVERAL) &&
	       step < ONE_SHARED_STEP * candidate->base_value &&
	       holds_a_shared_unit(search->original, candidate->class);
}

/*
 * Whether a number of units is to explain a model that is wrong by much with it, too.  A unit less makes most
 * code slower: where much else is wrong, such as loads that wait for stores of another call of a recursive
 * function, it explains some of that.
 */
static bool is_unit_beside_much(const struct compare_search *search,
				const struct compare_candidate *candidate)
{
	return pesa_mca_model_is_out_of_order(search->original) &&
	       candidate->kind == PESA_COMPARE_UNITS && search->misfit >= UNITS_MISFIT;
}

/* Whether a number differs by so little that the engine may be off by that on one basic block. */
static bool is_small_step(const struct compare_candidate *candidate)
{
	return abs(candidate->model_value - candidate->base_value) <
	       ONE_STEP_LEAST * candidate->base_value;
}

/* Whether all that is found is such a step on one block, or moves the program by next to nothing there. */
static bool is_only_a_trifle(const struct compare_search *search,
			     const struct compare_candidate *candidate,
			     const struct compare_touched *touched)
{
	return search->compare->findings == 1 && !compare_is_in_blocks(touched, BLOCKS_ONE) &&
	       (is_small_step(candidate) || fabs(touched->sum) < ONE_LEAST * search->core);
}

/* Whether the evidence is enough for an effect on one basic block. */
static bool is_enough_of_one(const struct compare_search *search,
			     const struct compare_candidate *candidate,
			     const struct compare_touched *touched)
{
	const struct pesa_compare_finding *finding = finding_of(search, candidate);
	bool out_of_order = pesa_mca_model_is_out_of_order(search->original);
	double part = fabs(touched->sum) / search->core;
	double least = part >= ONE_LARGEST ? ONE_LARGEST_EXPLAINED
		       : out_of_order	   ? ONE_LARGE_EXACTLY
					   : ONE_LARGE_EXPLAINED;

	if (part < ONE_LEAST || is_small_step(candidate))
		return false;
	if (part >= ONE_LARGE && finding->explained >= least && finding->explained_blocks >= least)
		return true;
	return finding->deviations >= ONE_DEVIATIONS &&
	       (finding->explained_blocks >= ONE_ALL || (finding->explained >= ONE_INSTRUCTIONS &&
							 finding->explained_blocks >= ONE_BLOCKS));
}

/* Whether the evidence is enough if all findings together explain nearly all. */
static bool is_enough_of_all(const struct compare_search *search,
			     const struct compare_candidate *candidate, double of_blocks,
			     double left)
{
	const struct pesa_compare_finding *finding = finding_of(search, candidate);

	return search->compare->findings > 1 && of_blocks >= ALL_OWN * search->core &&
	       search->at_first >= ALL_LEAST * search->core &&
	       left <= ALL_LEFT * search->at_first && finding->deviations >= ALL_DEVIATIONS &&
	       finding->explained >= ALL_INSTRUCTIONS && finding->explained_blocks >= ALL_BLOCKS;
}

/* Whether a finding is one of those of a model that is certainly wrong. */
static bool is_enough_of_certain(const struct compare_search *search,
				 const struct compare_candidate *candidate,
				 const struct compare_together *together, double of_nodes,
				 double of_blocks)
{
	const struct pesa_compare_finding *finding = finding_of(search, candidate);
	double likelier = candidate->likelier -
			  compare_size_penalty(search, candidate, candidate->model_value);
	bool most = together->likelier >= MOST_LIKELIER;

	if (!together->large || together->likelier < CERTAIN_LIKELIER ||
	    (search->compare->findings == 1 && likelier < CERTAIN_ALONE &&
	     leaves_traces(finding, ALONE_BETWEEN)))
		return false;
	if (likelier >= CERTAIN_WITHIN && finding->explained >= CERTAIN_WORSE &&
	    finding->explained_blocks >= CERTAIN_BLOCKS &&
	    finding->deviations >= CERTAIN_DEVIATIONS && of_blocks >= CERTAIN_LEAST * search->core)
		return true;
	if (together->instructions >= NEARLY_INSTRUCTIONS && together->blocks >= NEARLY_BLOCKS &&
	    likelier >= NEARLY_OWN &&
	    fmax(finding->explained, finding->explained_blocks) >= NEARLY_OWN_PART &&
	    finding->deviations >= NEARLY_DEVIATIONS)
		return true;
	if (!most &&
	    (together->instructions < CERTAIN_INSTRUCTIONS || together->blocks < CERTAIN_BLOCKS))
		return false;
	return likelier >= CERTAIN_OWN &&
	       finding->explained >= (most ? MOST_OWN_PART : CERTAIN_OWN_PART) &&
	       finding->explained_blocks >= 0 && finding->deviations >= CERTAIN_DEVIATIONS &&
	       of_nodes >= CERTAIN_LEAST * search->core;
}

/* Whether what is found makes the differences no likelier than what is found in unmodified programs. */
static bool is_unlikely(const struct compare_search *search,
			const struct compare_candidate *candidate,
			const struct compare_touched *touched,
			const struct compare_together *together)
{
	const struct pesa_compare_finding *finding = finding_of(search, candidate);
	bool large = fabs(touched->sum) >= UNLIKELY_LARGE * search->core;
	double of_nodes = touched->node[1] - touched->node[0];

	if (large && together->instructions >= UNLIKELY_TOGETHER &&
	    together->blocks >= UNLIKELY_BLOCKS)
		return false;
	return pesa_mca_model_is_out_of_order(search->original) &&
	       together->likelier < (large ? UNLIKELY : UNLIKELY_SMALL) &&
	       (fmin(finding->explained, finding->explained_blocks) < UNLIKELY_EXPLAINED ||
		finding->explained + finding->explained_blocks < UNLIKELY_BOTH ||
		of_nodes < UNLIKELY_LEAST * search->core);
}

/* Whether the evidence is enough beside findings that are right together. */
static bool is_enough_together(const struct compare_search *search,
			       const struct compare_candidate *candidate, double of_nodes)
{
	const struct pesa_compare_finding *finding = finding_of(search, candidate);

	/* One alone may only move time between blocks that follow each other. */
	if (search->compare->findings == 1 && leaves_traces(finding, ALONE_BETWEEN))
		return false;
	for (unsigned int i = 0; i < sizeof(enough_together) / sizeof(enough_together[0]); i++)
		if (finding->explained >= enough_together[i].instructions &&
		    finding->explained_blocks >= enough_together[i].blocks &&
		    finding->explained_traces >= enough_together[i].traces &&
		    finding->deviations >= enough_together[i].deviations &&
		    of_nodes >= enough_together[i].own * search->core)
			return true;
	return false;
}

/* Whether the evidence is enough on a core that is in order, wherever the effect is. */
static bool is_enough_in_order(const struct compare_search *search,
			       const struct compare_candidate *candidate,
			       const struct compare_touched *touched, double left)
{
	const struct pesa_compare_finding *finding = finding_of(search, candidate);
	double of_nodes = touched->node[1] - touched->node[0];

	/* One block that hardly moves the program may have many other reasons here, too. */
	if (!compare_is_in_blocks(touched, BLOCKS_ONE) &&
	    fabs(touched->sum) < ONE_LEAST * search->core)
		return false;
	return !pesa_mca_model_is_out_of_order(search->original) &&
	       finding->deviations >= IN_ORDER_DEVIATIONS &&
	       finding->explained >= IN_ORDER_INSTRUCTIONS &&
	       finding->explained_blocks >= IN_ORDER_BLOCKS &&
	       finding->explained_traces >= IN_ORDER_TRACES &&
	       candidate->whole >= IN_ORDER_LIKELY && of_nodes >= IN_ORDER_LEFT * left &&
	       of_nodes >= COMPARE_SHARE_LEAST * search->core;
}

/* Whether a finding makes the model worse and the program faster, or the reverse, by accident. */
static bool is_paradox(const struct compare_search *search,
		       const struct compare_candidate *candidate,
		       const struct compare_touched *touched)
{
	bool fewer =
		candidate->kind == PESA_COMPARE_UNITS || candidate->kind == PESA_COMPARE_ADVANCE;
	bool worse = (candidate->model_value < candidate->base_value) == fewer;
	/* What is touched is what becomes of the prediction without the finding. */
	double slower = worse ? -touched->sum : touched->sum;
	const struct pesa_compare_finding *finding = finding_of(search, candidate);
	double part = fmin(finding->explained, finding->explained_blocks);

	return pesa_mca_model_is_out_of_order(search->original) &&
	       slower < -PARADOX_LEAST * search->core &&
	       (part < PARADOX_EXPLAINED || (finding->deviations < PARADOX_DEVIATIONS &&
					     slower > -PARADOX_LARGE * search->core));
}

/* Single opcodes come first: a whole entry explains a part of what one of them does. */
static bool is_likely(const struct compare_search *search,
		      const struct compare_candidate *candidate, double of_nodes)
{
	const struct pesa_compare_finding *finding = finding_of(search, candidate);
	double penalty = compare_size_penalty(search, candidate, candidate->model_value);

	return search->opcodes_tried && candidate->whole - penalty >= LIKELY &&
	       finding->deviations >= LIKELY_DEVIATIONS &&
	       finding->explained >= LIKELY_INSTRUCTIONS &&
	       finding->explained_blocks >= LIKELY_BLOCKS &&
	       of_nodes >= COMPARE_SHARE_LEAST * search->core;
}

static bool is_between(const struct pesa_compare_finding *finding)
{
	return leaves_traces(finding, BETWEEN_DEVIATIONS) && finding->explained < BETWEEN_EXPLAINED;
}

/* How much of what is left of all differences a finding has to explain. */
static double part_of_left(const struct pesa_compare_finding *finding,
			   const struct compare_touched *touched)
{
	double part = fmin(finding->explained, finding->explained_blocks), least = LEFT_DEVIATIONS;

	if (part >= LEFT_EXPLAINED && compare_is_in_blocks(touched, STILL_BLOCKS))
		least = LEFT_EXPLAINED_SEVERAL;
	else if (part >= LEFT_MOSTLY && compare_is_in_blocks(touched, BLOCKS_ONE))
		least = LEFT_MOSTLY_DEVIATIONS;
	return finding->deviations < least ? LEFT_MOST : LEFT_LEAST;
}

static bool changes_memory(const struct compare_search *search,
			   const struct compare_candidate *candidate)
{
	const struct compare_code *code = &search->compare->code;

	for (uint32_t i = 0; i < code->count; i++)
		if (compare_is_memory(&code->node[i]) &&
		    compare_touches_node(search->original, candidate, &code->node[i]))
			return true;
	return false;
}

/* Whether a finding in few basic blocks, where nothing waits by choice, is no wait. */
static bool is_no_wait(const struct compare_search *search,
		       const struct compare_candidate *candidate, double of_nodes, double left)
{
	const struct pesa_compare_finding *finding = finding_of(search, candidate);

	return candidate->kind == PESA_COMPARE_LATENCY &&
	       fmin(finding->explained, finding->explained_blocks) >= PLAIN_EXPLAINED &&
	       finding->explained_traces >= PLAIN_TRACES &&
	       finding->deviations >= PLAIN_DEVIATIONS && of_nodes >= PLAIN_LEAST * search->core &&
	       left <= PLAIN_LEFT * search->core && !changes_memory(search, candidate);
}

static bool is_enough(const struct compare_search *search,
		      const struct compare_candidate *candidate,
		      const struct compare_touched *touched, double left,
		      const struct compare_together *together)
{
	const struct pesa_compare_finding *finding = finding_of(search, candidate);
	double of_nodes = touched->node[1] - touched->node[0],
	       of_blocks = touched->block[1] - touched->block[0];
	double least = part_of_left(finding, touched) * left;
	bool of_left = of_blocks >= least || of_nodes >= least;
	bool still = fabs(touched->sum) < COMPARE_SHARE_LEAST * search->core;

	if (is_paradox(search, candidate, touched) ||
	    is_chance_of_units(search, candidate, touched) ||
	    is_unit_beside_much(search, candidate) ||
	    is_only_a_trifle(search, candidate, touched) ||
	    compare_is_ambiguous(search, candidate, true) ||
	    is_unlikely(search, candidate, touched, together))
		return false;
	if (fabs(touched->sum) >= COMPARE_NEARLY_ALL_LEAST * search->core &&
	    compare_explains_nearly_all(finding, together))
		return true;
	/* What only moves time between blocks, and makes it worse there, is not certain by anything. */
	if (!(still && finding->explained_traces < CERTAIN_TRACES) &&
	    is_enough_of_certain(search, candidate, together, of_nodes, of_blocks))
		return true;
	if (search->plain && !compare_is_in_blocks(touched, COMPARE_BLOCKS_SEVERAL))
		return is_no_wait(search, candidate, of_nodes, left);
	if (compare_are_right(together) && is_enough_together(search, candidate, of_nodes))
		return true;
	if (is_between(finding))
		return false;
	if ((!still || (finding->explained_traces >= STILL_TRACES &&
			of_nodes >= STILL_SHARE * search->core)) &&
	    (of_left || compare_is_in_blocks(touched, BLOCKS_ONE)) &&
	    is_likely(search, candidate, of_nodes))
		return true;
	if (is_enough_of_all(search, candidate, of_blocks, left) ||
	    is_enough_in_order(search, candidate, touched, left))
		return true;
	if (still && !is_enough_still(search, candidate, touched))
		return false;
	if (!of_left)
		return false;
	if (of_blocks < WITHIN_BLOCKS * of_nodes && finding->explained < WITHIN_EXPLAINED)
		return false;
	if (!compare_is_in_blocks(touched, BLOCKS_ONE) &&
	    !is_enough_of_one(search, candidate, touched))
		return false;
	if (finding->explained < HALF && finding->explained_blocks < HALF &&
	    finding->deviations < HALF_DEVIATIONS)
		return false;
	for (unsigned int i = 0; i < sizeof(enough) / sizeof(enough[0]); i++)
		if (finding->explained >= enough[i].instructions &&
		    finding->explained_blocks >= enough[i].blocks &&
		    finding->deviations >= enough[i].deviations &&
		    holds(search, candidate, touched, enough[i].where))
			return true;
	return false;
}

static bool is_exact(const struct compare_search *search, const struct compare_candidate *candidate,
		     const struct compare_touched *touched)
{
	const struct pesa_compare_finding *finding = finding_of(search, candidate);
	double beside = fmin(candidate->beside, candidate->beside_blocks);

	if (finding->explained_blocks < EXACT_BLOCKS)
		return false;
	return (beside >= EXACT && finding->deviations >= EXACT_DEVIATIONS) ||
	       (beside >= LARGE_BESIDE && finding->deviations >= LARGE_DEVIATIONS &&
		fabs(touched->sum) >= LARGE * search->core);
}

/* Determine by how much a finding makes the differences likelier beside the others; the candidate's effect is
 * what becomes of the prediction without it. */
static struct pesa_error *likelier_with(const struct compare_search *search,
					struct compare_candidate *candidate)
{
	struct compare_candidate without = *candidate;

	if (!compare_fit(&search->residuals, &without))
		return pesa_error_no_memory();
	candidate->likelier = -without.exact;
	return NULL;
}

/*
 * Determine the evidence for all findings.  `weakest`: the one that explains least, of those that
 * explain too little; NULL: all explain enough.  `beside_all`: none of them was removed for want of
 * evidence.
 */
static struct pesa_error *weigh_all(struct compare_search *search,
				    const struct compare_traces *traces, bool beside_all,
				    struct compare_candidate **weakest, double *least)
{
	struct pesa_error *error = NULL;
	struct compare_together together;
	double left;

	*weakest = NULL;
	compare_make_residuals(search);
	left = compare_all_that_is_left(search);
	together = compare_weigh_together(search);
	for (unsigned int i = 0; i < search->candidates && !error; i++) {
		struct compare_candidate *candidate = &search->candidate[i];
		struct pesa_compare_finding *finding;
		struct compare_touched touched;

		if (candidate->finding == COMPARE_NONE)
			continue;
		error = compare_try_without(search, candidate);
		if (error)
			break;
		error = likelier_with(search, candidate);
		if (error)
			break;
		touched = compare_touch(search, candidate);
		finding = finding_of(search, candidate);
		finding->explained = compare_part_explained(touched.node[1], touched.node[0]);
		finding->explained_blocks =
			compare_part_explained(touched.block[1], touched.block[0]);
		finding->explained_traces = compare_explained_of_traces(search, traces, candidate);
		if (beside_all) {
			candidate->beside = finding->explained;
			candidate->beside_blocks = finding->explained_blocks;
		} else if (finding->explained_blocks >= BESIDE_BLOCKS) {
			finding->explained = fmax(finding->explained, candidate->beside);
		}
		/* Where all findings are right together, taking back one that lacks evidence makes wrong
		 * what it explained; that says nothing against the others. */
		if (beside_all)
			candidate->enough_beside =
				compare_are_right(&together) &&
				fabs(touched.sum) >= BESIDE_LEAST * search->core &&
				is_enough(search, candidate, &touched, left, &together);
		candidate->stays = !beside_all && (candidate->enough_beside ||
						   is_exact(search, candidate, &touched));
		if (candidate->stays)
			continue;
		if (!is_enough(search, candidate, &touched, left, &together) &&
		    (!*weakest || finding->explained < *least)) {
			*weakest = candidate;
			*least = finding->explained;
		}
	}
	return error;
}

/* Take back the finding that explains least, of those that explain too little, until there is none. */
static struct pesa_error *weigh_until_enough(struct compare_search *search)
{
	struct compare_candidate *weakest = NULL;
	struct compare_traces traces;
	double least = 0;
	struct pesa_error *error = compare_traces_make(search->compare, &traces);

	if (!error)
		error = weigh_all(search, &traces, true, &weakest, &least);

	while (!error && weakest) {
		struct pesa_compare_unexplained *nearest = &search->compare->unexplained;

		if (!*nearest->change) {
			snprintf(nearest->change, sizeof(nearest->change), "%s",
				 search->compare->finding[weakest->finding].change);
			nearest->refusal = PESA_COMPARE_LEAVES_MUCH;
			nearest->explained = least > 0 ? least : 0;
		}
		error = compare_eliminate(search, weakest);
		if (!error)
			error = weigh_all(search, &traces, false, &weakest, &least);
	}
	compare_traces_free(&traces);
	return error;
}

/* What a finding explains only in one of several steady states is no evidence: those of the model with all
 * findings count, too. */
struct pesa_error *compare_weigh_evidence(struct compare_search *search)
{
	struct pesa_compare *compare = search->compare;
	struct compare_stability first = compare->stability, with_findings;
	struct pesa_error *error;

	if (!compare->findings)
		return NULL;
	error = compare_learn_stability(compare, &with_findings);
	if (error)
		return error;
	compare_stability_join(compare, &with_findings, &first);
	compare_use_stability(search, &with_findings);
	error = weigh_until_enough(search);
	compare_stability_free(&compare->stability);
	compare_use_stability(search, &first);
	compare_make_residuals(search);
	return error;
}
