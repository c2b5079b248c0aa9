#!/bin/sh
# gen.sh compiles the kernels in src to PTX, which is committed compressed: gen.sh [directory].
# Needs clang 22 (Debian bookworm's clang-22); the same clang gives the same
# text. Each module is for the lowest compute capability that has what it uses;
# 90a is for that one only.
set -eu
cd "$(dirname "$0")"
out=${1:-ptx}
mkdir -p "$out"
for f in rows:75 gemv:75 experts:75 attention:75 sample:75 fused_blocks:75 fused_floats:75 rotated_blocks:75 rotated_floats:75 heads:75 recurrent:75 rwkv:75 latents:75 adapters:75 gemm:80 \
  attention_f16:80 attention_bf16:80 attention_f8_e4m3:80 attention_q8_0:80 gemm90:90a; do
  name=${f%:*} ptx=70
  case $f in *:90a) ptx=80 ;; esac
  clang-22 -x cuda --cuda-device-only -nocudainc -nocudalib -S -O3 -std=c++17 \
    -Wall -Werror -Wno-unknown-cuda-version -Wno-unused-function -ffp-contract=off -fno-jump-tables \
    -Xclang -target-feature -Xclang "+ptx$ptx" --cuda-gpu-arch="sm_${f#*:}" -o "$out/$name.ptx" "src/$name.cu"
  # Comments, some of which name the compiler's build, and blank lines go.
  sed -i -e 's/[ \t]*\/\/.*$//' -e '/^[ \t]*$/d' "$out/$name.ptx"
  gzip -9nf "$out/$name.ptx"
done
