#!/bin/sh
# gen.sh compiles the kernels to PTX, which is committed: gen.sh [directory].
# Needs clang 22 (Debian bookworm's clang-22); the same clang gives the same
# bytes. Each module is for the lowest compute capability that has what it uses.
set -eu
cd "$(dirname "$0")"
out=${1:-ptx}
mkdir -p "$out"
for f in rows:75 gemv:75 experts:75 attention:75 sample:75 gemm:80; do
  name=${f%:*}
  clang-22 -x cuda --cuda-device-only -nocudainc -nocudalib -S -O3 -std=c++17 \
    -Wall -Werror -Wno-unknown-cuda-version -Wno-unused-function -ffp-contract=off \
    -Xclang -target-feature -Xclang +ptx70 --cuda-gpu-arch="sm_${f#*:}" -o "$out/$name.ptx" "$name.cu"
  # Comments, some of which name the compiler's build, and blank lines go.
  sed -i -e 's/[ \t]*\/\/.*$//' -e '/^[ \t]*$/d' "$out/$name.ptx"
done
