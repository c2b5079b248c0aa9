#!/usr/bin/env bash
# kernels.sh OUT.wasm compiles the kernels of dot.c, which work in Go's memory: they
# import it as go.mem. Needs clang and wasm-ld (Debian: clang, lld; CLANG names another
# clang).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
"${CLANG:-clang}" --target=wasm32 -O3 -msimd128 -ffp-contract=off -nostdlib -fno-builtin -Wall -Werror \
  -Wl,--no-entry -Xlinker --import-memory=go,mem -Wl,--stack-first -Wl,-z,stack-size=65536 -o "$1" "$here/dot.c"
