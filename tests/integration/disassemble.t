#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Every instruction of the programs that the tests profile is printed as llvm-mc prints it.
set -u

: "${O:?}"
if ! "${LLVM_MC:-llvm-mc-22}" --version > /dev/null 2>&1; then
    echo "1..0 # SKIP needs the package llvm-22"
    exit 0
fi
number=0
for program in "$O"/programs/*; do
    [ -f "$program" ] && [ -x "$program" ] || continue
    number=$((number + 1))
    if said=$(CMOCKA_MESSAGE_OUTPUT=STDOUT "$O/tests/test_riscv_llvm" "$program" 2>&1); then
        echo "ok $number - every instruction of $(basename "$program") is printed as llvm-mc prints it"
    else
        echo "not ok $number - every instruction of $(basename "$program") is printed as llvm-mc prints it"
        echo "$said" | sed 's/^/# /'
    fi
done
if [ $number = 0 ]; then
    echo "1..0 # SKIP no programs in $O/programs: tools/programs builds them"
else
    echo "1..$number"
fi
