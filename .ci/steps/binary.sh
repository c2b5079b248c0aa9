#!/usr/bin/env bash
# One static binary.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

build_quern
if ldd "$shared/quern" >/dev/null 2>&1; then fail "the binary needs shared libraries"; fi
echo "$(($(wc -c <"$shared/quern") / 1000000)) MB"
