// SPDX-License-Identifier: GPL-2.0-or-later
/* Load addresses from a pipeline trace: see locate.h. */
#include "tools/import/locate.h"

#include <stdlib.h>

#define PAGE UINT64_C(4096)
/* Maximum number of distinct steps kept, and of trace pages tried (those with the most steps). */
#define STEPS (UINT32_C(1) << 17)
#define PAGES 64u
/*
 * Bits of evidence of a matching step: an instruction length is right in one of two cases, a target
 * rarely.
 */
#define BITS_OF_LENGTH 1
#define BITS_OF_TARGET 6
/* Required evidence in bits, beyond the number of tries. */
#define BITS_CERTAIN 12
/* Traps and modified text cause some steps that do not match. */
#define FITS_OF_A_MISFIT 16

struct step {
	uint64_t pc, next;
};

struct page {
	const struct step *first;
	uint32_t count;
};

struct import_locate {
	struct import_text *text;
	uint32_t count;
	struct step step[STEPS];
	struct page page[STEPS];
};

struct fit {
	uint64_t moved, bits;
	uint32_t fits, misfits;
};

struct import_locate *import_locate_create(struct import_text *text)
{
	struct import_locate *locate = malloc(sizeof(*locate));

	if (!locate)
		return NULL;
	locate->text = text;
	locate->count = 0;
	return locate;
}

void import_locate_free(struct import_locate *locate)
{
	free(locate);
}

static int compare_steps(const void *left, const void *right)
{
	const struct step *a = left, *b = right;

	if (a->pc != b->pc)
		return a->pc < b->pc ? -1 : 1;
	return a->next < b->next ? -1 : a->next > b->next;
}

/* Sort the steps and remove duplicates. */
static void make_unique(struct import_locate *locate)
{
	uint32_t kept = 0;

	qsort(locate->step, locate->count, sizeof(*locate->step), compare_steps);
	for (uint32_t i = 0; i < locate->count; i++)
		if (!kept || compare_steps(&locate->step[kept - 1], &locate->step[i]))
			locate->step[kept++] = locate->step[i];
	locate->count = kept;
}

void import_locate_step(struct import_locate *locate, uint64_t pc, uint64_t next)
{
	/* The table is full of distinct steps: more would add no information. */
	if (locate->count == STEPS)
		return;
	locate->step[locate->count++] = (struct step){pc, next};
	if (locate->count < STEPS)
		return;
	make_unique(locate);
	if (locate->count > STEPS / 4 * 3)
		locate->count = STEPS;
}

static void try_step(const struct import_file *file, const struct step *step, struct fit *fit)
{
	uint64_t address = step->pc - fit->moved, next = step->next - fit->moved;
	enum pesa_text_status status;
	struct pesa_text_insn insn;
	bool serialises, follows;

	status = import_file_instruction(file, address, &insn, &serialises);
	if (status == PESA_TEXT_UNMAPPED)
		return;
	follows = status == PESA_TEXT_OK && next == address + insn.length;
	if (status != PESA_TEXT_OK) {
		fit->misfits++;
	} else if (insn.has_target && next == insn.target) {
		fit->bits += follows ? BITS_OF_LENGTH : BITS_OF_TARGET;
		fit->fits++;
	} else if (insn.flow == PESA_FLOW_NEXT || insn.flow == PESA_FLOW_TRAP ||
		   insn.flow == PESA_FLOW_BRANCH) {
		fit->bits += follows ? BITS_OF_LENGTH : 0;
		fit->fits += follows;
		fit->misfits += !follows;
	} else if (insn.has_target) {
		fit->misfits++;
	}
	/* An indirect jump can continue anywhere. */
}

/* False: too many steps do not match. */
static bool try_steps(const struct import_file *file, const struct step *steps, uint32_t count,
		      struct fit *fit)
{
	for (uint32_t i = 0; i < count; i++) {
		try_step(file, &steps[i], fit);
		if (fit->misfits > 1 + count / FITS_OF_A_MISFIT)
			return false;
	}
	return fit->fits && fit->misfits * FITS_OF_A_MISFIT <= fit->fits;
}

static int compare_pages(const void *left, const void *right)
{
	const struct page *a = left, *b = right;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

/* List the pages of the trace, those with the most steps first. */
static uint32_t find_pages(struct import_locate *locate)
{
	uint32_t pages = 0;

	for (uint32_t i = 0; i < locate->count; i++) {
		const struct step *step = &locate->step[i];

		if (pages && locate->page[pages - 1].first->pc / PAGE == step->pc / PAGE)
			locate->page[pages - 1].count++;
		else
			locate->page[pages++] = (struct page){step, 1};
	}
	qsort(locate->page, pages, sizeof(*locate->page), compare_pages);
	return pages < PAGES ? pages : PAGES;
}

static bool is_certain(const struct fit *best, const struct fit *second, uint64_t tries)
{
	uint64_t needed = BITS_CERTAIN;

	for (; tries > 1; tries /= 2)
		needed++;
	return best->bits >= needed && second->bits * 2 <= best->bits;
}

static bool place_file(struct import_locate *locate, struct import_file *file, uint32_t pages)
{
	struct fit best = {0}, second = {0};
	uint64_t address, offset, size, tries = 1;

	/* Try the file's own addresses: a program that runs where it was linked. */
	if (!try_steps(file, locate->step, locate->count, &best))
		best = (struct fit){0};
	for (uint32_t i = 0; i < pages; i++) {
		const struct page *page = &locate->page[i];
		uint64_t start = page->first->pc / PAGE * PAGE;

		for (unsigned int j = 0;
		     pesa_image_segment(file->image, j, &address, &offset, &size); j++) {
			uint64_t text = address / PAGE * PAGE;

			for (; text < address + size; text += PAGE) {
				struct fit here = {.moved = start - text}, all = here;

				tries++;
				if (here.moved == best.moved ||
				    !try_steps(file, page->first, page->count, &here) ||
				    !try_steps(file, locate->step, locate->count, &all))
					continue;
				if (all.bits > best.bits) {
					second = best;
					best = all;
				} else if (all.bits > second.bits && all.moved != second.moved) {
					second = all;
				}
			}
		}
	}
	if (!is_certain(&best, &second, tries))
		return false;
	file->moved = best.moved;
	file->fits = best.fits;
	file->steps = best.fits + best.misfits;
	return true;
}

bool import_locate_place(struct import_locate *locate)
{
	struct import_text *text = locate->text;
	bool all = true;
	uint32_t pages;

	make_unique(locate);
	pages = find_pages(locate);
	for (unsigned int i = 0; i < text->count; i++) {
		struct import_file *file = &text->file[i];

		if (file->place == IMPORT_PLACE_UNKNOWN && place_file(locate, file, pages))
			file->place = IMPORT_PLACE_FOUND;
		all &= file->place != IMPORT_PLACE_UNKNOWN;
	}
	return all;
}
