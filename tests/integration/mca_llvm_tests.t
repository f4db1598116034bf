#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# LLVM's own tests of llvm-mca, if the cache has them (make llvm-tests fetches them) and FileCheck is there.
top=$(cd "$(dirname "$0")/../.." && pwd)
output=$("$top/tests/llvm-mca/run" --cached 2>&1)
status=$?
if [ $status = 77 ]; then
    echo "1..0 # SKIP $output"
    exit 0
fi
echo "1..1"
[ $status = 0 ] && result=ok || result="not ok"
echo "$result 1 - $(echo "$output" | tail -n 1)"
[ $status = 0 ] || echo "$output" | grep -v '^passed' | sed 's/^/# /'
