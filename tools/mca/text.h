/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Assembly text of an instruction: mnemonic, tab, operands.
 */
#ifndef TOOLS_MCA_TEXT_H
#define TOOLS_MCA_TEXT_H

/*
 * A copy in which decimal operands, and decimal offsets before a register in brackets, are
 * hexadecimal (-16(sp) becomes -0x10(sp)).  The caller frees it.  NULL: out of memory.
 */
char *mca_text_hexadecimal(const char *text);

#endif
