#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The tests of report.t with the binary that was built with ASan and UBSan: no leak, no undefined
# behaviour on any of its paths, damaged files included.
if [ -z "${PESA_SANITIZED_BINARY:-}" ] || [ ! -x "$PESA_SANITIZED_BINARY" ]; then
    echo "1..0 # SKIP no sanitized build (make SAN=1)"
    exit 0
fi
PESA=$PESA_SANITIZED_BINARY exec "$(dirname "$0")/report.t"
