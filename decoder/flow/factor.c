// SPDX-License-Identifier: GPL-2.0-or-later
#include "decoder/flow/factor.h"

#include <limits.h>
#include <stdlib.h>
#include <suitesparse/cs.h>

#define TRIFLE	    1e-12 /* of the diagonal, which is added to it */
#define TRIFLE_MORE 1e4	  /* times as much where rounding has made a pivot negative */
#define TRIFLE_MOST 1.0
#define ENDS	    3 /* of an arc */
#define BY_DEGREE   1 /* order of elimination: approximate minimum degree of A + A' */

struct flow_factor {
	cs_dis *symbolic;
	cs_din *numeric;
	int rows;
};

/* What a flow of 1 adds to the nodes of an arc. */
struct ends {
	uint32_t node[ENDS];
	double part[ENDS];
};

static struct ends ends_of(const struct flow_arc *arc)
{
	return (struct ends){
		.node = {arc->to, arc->also, arc->from},
		.part = {flow_to_part(arc), flow_also_part(arc), -1},
	};
}

/* An end that is in the matrix: the ground has no row, nor has a node that gets nothing. */
static bool is_in(const struct ends *ends, unsigned int end)
{
	return ends->node[end] != FLOW_GROUND && ends->part[end] != 0;
}

/* The upper triangle of an arc's part of the matrix. */
static bool add_arc(cs_di *triplets, const struct flow_arc *arc, const uint32_t *row)
{
	const struct ends ends = ends_of(arc);
	bool added = true;

	for (unsigned int i = 0; i < ENDS; i++)
		for (unsigned int j = 0; j < ENDS; j++)
			if (is_in(&ends, i) && is_in(&ends, j) &&
			    row[ends.node[i]] <= row[ends.node[j]])
				added &= cs_di_entry(triplets, (int)row[ends.node[i]],
						     (int)row[ends.node[j]],
						     arc->variance * ends.part[i] * ends.part[j]);
	return added;
}

static cs_di *make_matrix(const struct flow_arc *arc, const uint32_t *active, uint32_t actives,
			  const uint32_t *node, uint32_t rows, const uint32_t *row,
			  const double *diagonal, double trifle)
{
	cs_di *triplets = cs_di_spalloc((int)rows, (int)rows, (int)(4 * actives + rows), 1, 1);
	cs_di *matrix = NULL;
	bool added = triplets != NULL;

	for (uint32_t i = 0; i < actives && added; i++)
		added = add_arc(triplets, &arc[active[i]], row);
	for (uint32_t i = 0; i < rows && added; i++)
		added = cs_di_entry(triplets, (int)i, (int)i, trifle * diagonal[node[i]]);
	if (added)
		matrix = cs_di_compress(triplets);
	cs_di_spfree(triplets);
	if (matrix && !cs_di_dupl(matrix))
		return cs_di_spfree(matrix);
	return matrix;
}

struct pesa_error *flow_factor_create(const struct flow_arc *arc, const uint32_t *active,
				      uint32_t actives, const uint32_t *node, uint32_t rows,
				      const uint32_t *row, const double *diagonal,
				      struct flow_factor **result)
{
	struct flow_factor *factor;

	if (actives > INT_MAX / (ENDS * ENDS + 1) || rows > INT_MAX / 2)
		return pesa_error_create(PESA_ERROR_UNSUPPORTED,
					 "a program of %u branches and calls that hang together is "
					 "too large",
					 actives);
	factor = calloc(1, sizeof(*factor));
	if (!factor)
		return pesa_error_no_memory();
	factor->rows = (int)rows;
	for (double trifle = TRIFLE; !factor->numeric && trifle <= TRIFLE_MOST;
	     trifle *= TRIFLE_MORE) {
		cs_di *matrix =
			make_matrix(arc, active, actives, node, rows, row, diagonal, trifle);

		if (matrix && !factor->symbolic)
			factor->symbolic = cs_di_schol(BY_DEGREE, matrix);
		if (matrix && factor->symbolic)
			factor->numeric = cs_di_chol(matrix, factor->symbolic);
		cs_di_spfree(matrix);
	}
	if (!factor->numeric) {
		flow_factor_free(factor);
		return pesa_error_no_memory();
	}
	*result = factor;
	return NULL;
}

void flow_factor_solve(const struct flow_factor *factor, double *vector, double *work)
{
	cs_di_ipvec(factor->symbolic->pinv, vector, work, factor->rows);
	cs_di_lsolve(factor->numeric->L, work);
	cs_di_ltsolve(factor->numeric->L, work);
	cs_di_pvec(factor->symbolic->pinv, work, vector, factor->rows);
}

void flow_factor_free(struct flow_factor *factor)
{
	if (!factor)
		return;
	cs_di_sfree(factor->symbolic);
	cs_di_nfree(factor->numeric);
	free(factor);
}
