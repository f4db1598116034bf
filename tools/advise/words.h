/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A remark of pesa/advise.h in words, without its place and without the cycles at stake. */
#ifndef TOOLS_ADVISE_WORDS_H
#define TOOLS_ADVISE_WORDS_H

#include "pesa/advise.h"
#include "tools/ui/listing.h"
#include "tools/ui/text.h"

struct advise_words {
	const struct profile_input *input;
	struct listing_isas *isas;
};

/* What is wrong: "load misses the cache". */
const char *advise_what(const struct pesa_advice_remark *remark);
/* The evidence: "31.2% of 120k executions miss, 8.1 cycles each; address moves by 64 bytes ...". */
void advise_evidence(const struct advise_words *words, const struct pesa_advice_remark *remark,
		     struct ui_text *line);
/* What to try: "__builtin_prefetch() 8 iterations ahead: ...". */
void advise_try_words(const struct advise_words *words, const struct pesa_advice_remark *remark,
		      struct ui_text *line);
/* "`ld a0, 8(a1)` at 1234" */
void advise_add_place(const struct advise_words *words, uint32_t dso, uint64_t address,
		      struct ui_text *line);

#endif
