/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file
 * An image: the text of one ELF file.
 *
 * The walk needs the bytes of instructions and the profile needs addresses that mean the same in every
 * run, so an image holds the executable segments of a file, its build id and its instruction set, and
 * converts between offsets in the file (which mappings name) and virtual addresses of the ELF file
 * (which symbols and debug information name).
 *
 * ELF files of other architectures can be opened too: addresses convert, but there is no instruction
 * set.  The segments are read into memory, so a file that changes or vanishes later does no harm.
 *
 * Threads: an image is constant once it is opened and may be shared; different images may be opened and
 * closed by different threads at the same time.
 */
#ifndef PESA_IMAGE_H
#define PESA_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/api.h"
#include "pesa/error.h"

PESA_DECLARATIONS_BEGIN

/** The text of one ELF file. */
struct pesa_image;

/** Open an ELF file.  PESA_ERROR_SYSTEM: it cannot be read.  PESA_ERROR_FORMAT: it is not an ELF
 * file, or a damaged one.  Owned by the caller.
 * @any_thread @caller_owns */
struct pesa_error *pesa_image_open(const char *path, struct pesa_image **image);
/** Free an image, and with it what it returned.  NULL is allowed.
 * @one_thread @takes_object */
void pesa_image_close(struct pesa_image *image);

/** GNU build id: its bytes and in *size how many; size 0 when the file has none.
 * @readers @object_owns */
const uint8_t *pesa_image_build_id(const struct pesa_image *image, unsigned int *size);

/** ISA string: from .riscv.attributes, else "rv32" or "rv64" by the class.  NULL: not RISC-V.
 * @readers @object_owns */
const char *pesa_image_isa(const struct pesa_image *image);
/** Whether it can be loaded at any address: a shared object or a position-independent program.
 * @readers @nothing_owned */
bool pesa_image_is_position_independent(const struct pesa_image *image);
/** Name of the architecture for messages, "x86-64" or "machine 62".
 * @readers @object_owns */
const char *pesa_image_machine(const struct pesa_image *image);

/** The virtual address of the byte at a file offset, by the executable segments, else by the others.
 * @readers @nothing_owned */
bool pesa_image_address(const struct pesa_image *image, uint64_t offset, uint64_t *address);

/** The executable segments, one after the other: where each is mapped, its place in the file and its
 * bytes there.  False: there are not so many.
 * @readers @nothing_owned */
bool pesa_image_segment(const struct pesa_image *image, unsigned int index, uint64_t *address,
			uint64_t *offset, uint64_t *size);

/** Copy text at a virtual address.  Returns how many of `size` bytes there are (0: none).
 * @readers @nothing_owned */
size_t pesa_image_text(const struct pesa_image *image, uint64_t address, void *buffer, size_t size);
/** The same without a copy: a pointer and in *size the bytes up to the segment's end; NULL: none.
 * @readers @object_owns */
const uint8_t *pesa_image_text_at(const struct pesa_image *image, uint64_t address, size_t *size);

PESA_DECLARATIONS_END

#endif
