// SPDX-License-Identifier: GPL-2.0-or-later
/* Alignment of two sequences: see sequence.h. */
#include <stdbool.h>
#include <stdlib.h>

#include "decoder/base/sequence.h"

/* Number of differences in one piece beyond which the search for a shortest path stops. */
#define DIFFERENCES_MAX 2048

/* Values for points not reached, from the front and from the back; a few steps from them are not
 * reached either. */
#define NOWHERE_AHEAD  (PTRDIFF_MIN / 2)
#define NOWHERE_BEHIND (PTRDIFF_MAX / 2)

struct aligning {
	const uint32_t *left, *right;
	size_t *partner;
	/* For each diagonal (x - y): furthest x reached, from the front and from the back. */
	ptrdiff_t *forward, *backward;
};

/* A piece: [left, left_end) of one sequence, [right, right_end) of the other. */
struct piece {
	ptrdiff_t left, left_end, right, right_end;
};

/* Where the best path through a piece crosses its middle. */
struct middle {
	ptrdiff_t x, y;
};

static ptrdiff_t run_forward(const struct aligning *aligning, const struct piece *piece,
			     ptrdiff_t x, ptrdiff_t diagonal)
{
	while (x < piece->left_end && x - diagonal < piece->right_end &&
	       aligning->left[x] == aligning->right[x - diagonal])
		x++;
	return x;
}

static ptrdiff_t run_backward(const struct aligning *aligning, const struct piece *piece,
			      ptrdiff_t x, ptrdiff_t diagonal)
{
	while (x > piece->left && x - diagonal > piece->right &&
	       aligning->left[x - 1] == aligning->right[x - diagonal - 1])
		x--;
	return x;
}

/* Range of diagonals reached. */
struct reach {
	ptrdiff_t low, high;
};

/* One more difference: extend the range by a diagonal on either side, if there is one, and mark the
 * neighbours beyond as not reached. */
static void widen(struct reach *reach, ptrdiff_t *x, ptrdiff_t lowest, ptrdiff_t highest,
		  ptrdiff_t nowhere)
{
	if (reach->low > lowest) {
		reach->low--;
		x[reach->low - 1] = nowhere;
	} else {
		reach->low++;
	}
	if (reach->high < highest) {
		reach->high++;
		x[reach->high + 1] = nowhere;
	} else {
		reach->high--;
	}
}

static bool reaches(const struct reach *reach, ptrdiff_t diagonal)
{
	return diagonal >= reach->low && diagonal <= reach->high;
}

/* The furthest point of all paths from the front; at least one step. */
static struct middle furthest(const struct aligning *aligning, const struct piece *piece,
			      const struct reach *reach)
{
	struct middle best = {piece->left + 1, piece->right};

	for (ptrdiff_t diagonal = reach->low; diagonal <= reach->high; diagonal += 2) {
		ptrdiff_t x = aligning->forward[diagonal], y = x - diagonal;

		if (x >= piece->left && y >= piece->right && x + y > best.x + best.y)
			best = (struct middle){x, y};
	}
	return best;
}

/* Neither side of the piece is empty, and its first and last elements differ. */
static struct middle find_middle(struct aligning *aligning, const struct piece *piece)
{
	const ptrdiff_t start = piece->left - piece->right,
			end = piece->left_end - piece->right_end;
	const ptrdiff_t lowest = piece->left - piece->right_end,
			highest = piece->left_end - piece->right;
	const bool odd = (start - end) & 1;
	ptrdiff_t *forward = aligning->forward, *backward = aligning->backward;
	struct reach ahead = {start, start}, behind = {end, end};

	forward[start] = piece->left;
	backward[end] = piece->left_end;
	for (unsigned int d = 0;; d++) {
		widen(&ahead, forward, lowest, highest, NOWHERE_AHEAD);
		for (ptrdiff_t diagonal = ahead.low; diagonal <= ahead.high; diagonal += 2) {
			ptrdiff_t x = forward[diagonal - 1] >= forward[diagonal + 1]
					      ? forward[diagonal - 1] + 1
					      : forward[diagonal + 1];

			if (x > piece->left_end || x - diagonal > piece->right_end)
				x = NOWHERE_AHEAD;
			else if (x >= piece->left)
				x = run_forward(aligning, piece, x, diagonal);
			forward[diagonal] = x;
			if (odd && reaches(&behind, diagonal) && x >= backward[diagonal])
				return (struct middle){x, x - diagonal};
		}
		if (d == DIFFERENCES_MAX)
			return furthest(aligning, piece, &ahead);
		widen(&behind, backward, lowest, highest, NOWHERE_BEHIND);
		for (ptrdiff_t diagonal = behind.low; diagonal <= behind.high; diagonal += 2) {
			ptrdiff_t x = backward[diagonal - 1] < backward[diagonal + 1]
					      ? backward[diagonal - 1]
					      : backward[diagonal + 1] - 1;

			if (x < piece->left || x - diagonal < piece->right)
				x = NOWHERE_BEHIND;
			else if (x <= piece->left_end)
				x = run_backward(aligning, piece, x, diagonal);
			backward[diagonal] = x;
			if (!odd && reaches(&ahead, diagonal) && x <= forward[diagonal])
				return (struct middle){x, x - diagonal};
		}
	}
}

static void align(struct aligning *aligning, struct piece piece)
{
	struct middle middle;

	/* The larger half is processed by this loop, the smaller one by recursion. */
	for (;;) {
		while (piece.left < piece.left_end && piece.right < piece.right_end &&
		       aligning->left[piece.left] == aligning->right[piece.right])
			aligning->partner[piece.left++] = (size_t)piece.right++;
		while (piece.left < piece.left_end && piece.right < piece.right_end &&
		       aligning->left[piece.left_end - 1] == aligning->right[piece.right_end - 1])
			aligning->partner[--piece.left_end] = (size_t)--piece.right_end;
		if (piece.left == piece.left_end || piece.right == piece.right_end)
			return;
		middle = find_middle(aligning, &piece);
		if (middle.x - piece.left + middle.y - piece.right <
		    piece.left_end - middle.x + piece.right_end - middle.y) {
			align(aligning,
			      (struct piece){piece.left, middle.x, piece.right, middle.y});
			piece.left = middle.x;
			piece.right = middle.y;
		} else {
			align(aligning,
			      (struct piece){middle.x, piece.left_end, middle.y, piece.right_end});
			piece.left_end = middle.x;
			piece.right_end = middle.y;
		}
	}
}

struct pesa_error *pesa_sequence_align(const uint32_t *left, size_t left_count,
				       const uint32_t *right, size_t right_count, size_t *partner)
{
	/* Diagonals from -right_count - 1 to left_count + 1. */
	size_t diagonals = left_count + right_count + 3;
	ptrdiff_t *room = calloc(2 * diagonals, sizeof(*room));
	struct aligning aligning = {.left = left, .right = right, .partner = partner};

	if (!room)
		return pesa_error_no_memory();
	aligning.forward = room + right_count + 1;
	aligning.backward = room + diagonals + right_count + 1;
	for (size_t i = 0; i < left_count; i++)
		partner[i] = PESA_SEQUENCE_NONE;
	align(&aligning, (struct piece){0, (ptrdiff_t)left_count, 0, (ptrdiff_t)right_count});
	free(room);
	return NULL;
}
