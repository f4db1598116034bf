/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instruction sets that together have every extension, and how llvm-mc, the oracle of the tests of
 * decoder and assembler, is informed of them.  Include after cmocka.h.
 */
#ifndef TESTS_RISCV_CONFIGURATIONS_H
#define TESTS_RISCV_CONFIGURATIONS_H

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pesa/riscv.h"

/* Everything ratified that does not conflict: what "rv64" and "rv32" alone stand for. */
#define STANDARD                                                                                   \
	"imafdqcbvh_sdext_sdtrig_sha_shcounterenw_shgatpa_shlcofideleg_shtvala_shvsatpa_"          \
	"shvstvala_shvstvecd_smaia_smcdeleg_smcntrpmf_smcsrind_smctr_smdbltrp_smepmp_smmpm_smnpm_" \
	"smrnmi_smstateen_ssaia_ssccfg_ssccptr_sscofpmf_sscounterenw_sscsrind_ssctr_ssdbltrp_"     \
	"ssnpm_sspm_ssqosid_ssstateen_ssstrict_sstc_sstvala_sstvecd_ssu64xl_supm_svade_svadu_"     \
	"svbare_svinval_svnapot_svpbmt_svvptc_za128rs_za64rs_zaamo_zabha_zacas_zalasr_zalrsc_"     \
	"zama16b_zawrs_zba_zbb_zbc_zbkb_zbkc_zbkx_zbs_zca_zcb_zcd_zcf_zcmop_zfa_zfbfmin_zfh_"      \
	"zfhmin_zic64b_zicbom_zicbop_zicboz_ziccamoa_ziccamoc_ziccif_zicclsm_ziccrse_zicntr_"      \
	"zicond_zicsr_zifencei_zihintntl_zihintpause_zihpm_zilsd_zimop_zk_zkn_zknd_zkne_zknh_"     \
	"zkr_zks_zksed_zksh_zkt_zmmul_ztso_zvbb_zvbc_zvfbfmin_zvfbfwma_zvfh_zvfhmin_zvkb_zvkg_"    \
	"zvkn_zvknc_zvkned_zvkng_zvknha_zvknhb_zvks_zvksc_zvksed_zvksg_zvksh_zvkt"

#define THEAD                                                                         \
	"xtheadba_xtheadbb_xtheadbs_xtheadcmo_xtheadcondmov_xtheadfmemidx_xtheadmac_" \
	"xtheadmemidx_xtheadmempair_xtheadsync_xtheadvdot"
#define SIFIVE_VECTOR                                                                          \
	"xsfvcp_xsfvfexpa_xsfvfexpa64e_xsfvfexp16e_xsfvfexp32e_xsfvfbfexp16e_xsfvfnrclipxfqf_" \
	"xsfvfwmaccqqq_xsfvqmaccdod_xsfvqmaccqoq"
#define SIFIVE_MATRIX \
	"xsfmmbase_xsfmm128t_xsfmm32a16f_xsfmm32a32f_xsfmm32a8f_xsfmm32a8i_xsfmm64a64f"
#define SIFIVE_SYSTEM "xsfcease_xsifivecdiscarddlone_xsifivecflushdlone"
#define ANDES                                                                           \
	"xandesbfhcvt_xandesperf_xandesvbfhcvt_xandesvdot_xandesvpackfph_xandesvsinth_" \
	"xandesvsintload"
#define CORE_V "xcvalu_xcvbi_xcvbitmanip_xcvelw_xcvmac_xcvmem_xcvsimd"
#define MIPS   "xmipscbop_xmipscmov_xmipsexectl_xmipslsp"

/* What the decoder is made for, and the ISA string that the oracle's features are taken from. */
struct configuration {
	const char *isa;
	const char *oracle; /* NULL: the same */
};

static const struct configuration configurations[] = {
	{"rv64gc", NULL},
	{"rv32gc", NULL},
	{"rv64", "rv64" STANDARD},
	{"rv32", "rv32" STANDARD},
	{"rv64i", NULL},
	{"rv32e_m_c", NULL},
	{"rv64ima_zfinx_zdinx_zhinx", NULL},
	{"rv32ima_zfinx_zdinx_zhinx_zhinxmin", NULL},
	{"rv64ima_zca_zcb_zcmp_zcmt_zbb_zba", NULL},
	{"rv32imaf_zce", NULL},
	{"rv32ema_zca_zcmp", NULL},
	{"rv32ima_zclsd_zilsd_zcmp_zcmt", NULL},
	{"rv64gcv_" THEAD, NULL},
	{"rv32gcv_" THEAD, NULL},
	{"rv64gcv_zvfh_" SIFIVE_VECTOR "_" SIFIVE_SYSTEM, NULL},
	{"rv64gcv_" SIFIVE_MATRIX, NULL},
	{"rv64gcv_zfh_" ANDES, NULL},
	{"rv64gcv_" MIPS "_xsmtvdot_xventanacondops", NULL},
	{"rv32gc_" CORE_V, NULL},
	{"rv32imac_zba_zbb_zbs_xqci", NULL},
	{"rv32ima_zca_xqccmp", NULL},
	{"rv64ima_zca_xqccmp", NULL},
	{"rv32imac_zba_zbb_xwchc", NULL},
	{"rv64gcv_" THEAD "_" SIFIVE_VECTOR "_" SIFIVE_MATRIX "_" SIFIVE_SYSTEM "_" ANDES "_" MIPS
	 "_xsmtvdot_xventanacondops",
	 NULL},
	{"rv32gcv_" THEAD "_" CORE_V "_" ANDES "_" MIPS "_xsmtvdot", NULL},
};

#define CONFIGURATIONS (sizeof(configurations) / sizeof(*configurations))

static struct pesa_isa *create(const char *string)
{
	struct pesa_isa *isa = NULL;
	struct pesa_error *error = pesa_isa_create(string, &isa);

	if (error)
		fail_msg("%s", error->message);
	return isa;
}

/* xorshift64*; the state is any number but 0. */
static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state * 0x2545f4914f6cdd1du;
}

static const char *oracle_program(void)
{
	const char *program = getenv("LLVM_MC");

	return program && *program ? program : "llvm-mc-22";
}

static bool oracle_exists(void)
{
	char command[512];

	snprintf(command, sizeof(command), "%s --version > /dev/null 2>&1", oracle_program());
	return system(command) == 0;
}

/* "rv64imac_zba" to "--triple=riscv64 --mattr=+m,+a,+c,+zba", "rva23u64" to "--mattr=+rva23u64". */
static void oracle_options(const char *isa, char *text, size_t size)
{
	const char *rest = isa + 4;
	size_t used;

	if (!isdigit((unsigned char)isa[2])) {
		snprintf(text, size, "--triple=riscv%s --mattr=+%s",
			 strstr(isa, "32") ? "32" : "64", isa);
		return;
	}
	used = snprintf(text, size, "--triple=riscv%.2s --mattr=+i", isa + 2);
	for (; *rest && *rest != '_'; rest++)
		used += snprintf(text + used, size - used, "%s%c",
				 *rest == 'g' ? ",+m,+a,+f,+d,+zicsr,+zifencei,+" : ",+",
				 *rest == 'g' ? 'i' : *rest);
	while (*rest == '_') {
		size_t length = strcspn(rest + 1, "_");

		used += snprintf(text + used, size - used, ",+%.*s", (int)length, rest + 1);
		rest += 1 + length;
	}
	assert_true(used < size);
}

#endif
