/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as the sections of pseudo probes: the first byte is the size of the descriptions. */
#include "decoder/binary/pseudo_probe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Where a function begins, by the first byte of its name; not known of some. */
static struct pesa_error *locate(void *context, const char *name, uint64_t *address, bool *found)
{
	(void)context;
	*found = *name & 1;
	*address = (uint64_t)(uint8_t)*name << 12;
	return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pseudo_probes probes;
	size_t split;

	if (!size)
		return 0;
	split = data[0] < size ? data[0] : size - 1;
	pesa_error_free(pseudo_probes_read(data + 1, split, data + 1 + split, size - 1 - split,
					   locate, NULL, &probes));
	for (size_t i = 0; i < probes.count; i++) {
		const struct pseudo_probe *probe = &probes.probe[i];

		if (probe->body >= probes.bodies || pseudo_probes_from(&probes, probe->address) > i)
			__builtin_trap();
	}
	/* Bodies come after those that they are inlined into. */
	for (size_t i = 0; i < probes.bodies; i++)
		if ((probes.body[i].parent != PSEUDO_PROBE_NONE && probes.body[i].parent >= i) ||
		    (probes.body[i].function != PSEUDO_PROBE_NONE &&
		     probes.body[i].function >= probes.functions))
			__builtin_trap();
	pseudo_probes_free(&probes);
	return 0;
}
