#!/usr/bin/env bash
# kernels.sh OUT.wasm [shared] compiles the kernels of dot.c, which work in Go's memory: they
# import it as go.mem, which with shared is one that threads share. Needs clang and wasm-ld
# (Debian: clang, lld; CLANG names another clang).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
memory=()
if [ "${2:-}" = shared ]; then
  memory=(-matomics -mbulk-memory -Wl,--shared-memory -Wl,--max-memory=4294967296)
fi
"${CLANG:-clang}" --target=wasm32 -O3 -msimd128 -ffp-contract=off -nostdlib -fno-builtin -Wall -Werror "${memory[@]}" \
  -Wl,--no-entry -Xlinker --import-memory=go,mem -Wl,--stack-first -Wl,-z,stack-size=65536 -o "$1" "$here/dot.c"
