/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A growing byte buffer for building records and feature sections.
 *
 * A failed allocation sets `failed`, and later appends do nothing.  So a builder checks once, at
 * its end.
 */
#ifndef DECODER_PERFDATA_BUFFER_H
#define DECODER_PERFDATA_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perfdata_buffer {
	uint8_t *bytes;
	size_t size, capacity;
	bool failed;
};

/* Extend the buffer by `size` bytes and return a pointer to them; NULL if out of memory. */
void *perfdata_buffer_extend(struct perfdata_buffer *buffer, size_t size);
void perfdata_buffer_append(struct perfdata_buffer *buffer, const void *bytes, size_t size);
void perfdata_buffer_zeros(struct perfdata_buffer *buffer, size_t size);
void perfdata_buffer_u32(struct perfdata_buffer *buffer, uint32_t value);
void perfdata_buffer_u64(struct perfdata_buffer *buffer, uint64_t value);
/* A string as feature sections store it: length, text, zeros up to the alignment. */
void perfdata_buffer_string(struct perfdata_buffer *buffer, const char *text);
void perfdata_buffer_free(struct perfdata_buffer *buffer);

#endif
