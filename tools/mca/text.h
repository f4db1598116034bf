/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Assembly text of an instruction: mnemonic, tab, operands.
 */
#ifndef TOOLS_MCA_TEXT_H
#define TOOLS_MCA_TEXT_H

/*
 * A copy with the operands that are decimal numbers, also those before a register in brackets, in
 * hexadecimal (-16(sp) is -0x10(sp)).  Owned by the caller; NULL: out of memory.
 */
char *mca_text_hexadecimal(const char *text);

#endif
