#!/usr/bin/env bash
# CUDA without a GPU: the committed PTX is what the sources give; a build with the driver says that there is none.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

need "wasm-ld-$CLANG_VERSION" "clang-$CLANG_VERSION" "lld-$CLANG_VERSION"
kernels/cuda/gen.sh "$scratch/ptx"
for f in "$scratch"/ptx/*.ptx.gz; do cmp <(gunzip -c "$f") <(gunzip -c "kernels/cuda/ptx/${f##*/}") || fail "${f##*/} is not what the sources give"; done
[ "$(ls "$scratch/ptx")" = "$(ls kernels/cuda/ptx)" ] || fail "kernels/cuda/ptx has other files than the sources give"
CGO_ENABLED=0 go vet -tags cuda ./engine/... ./kernels/... ./cmd/...
CGO_ENABLED=0 go build -tags cuda -o "$scratch/quern-cuda" ./cmd/quern
if [ ! -e /dev/nvidia0 ]; then
  CGO_ENABLED=0 go test -count=1 -tags cuda ./engine/device -run 'FindDevice|AutoWithoutGPU'
  if "$scratch/quern-cuda" run --device cuda quern-tiny hi >"$scratch/none" 2>&1; then fail "--device cuda works without a GPU"; fi
  grep 'no usable driver' "$scratch/none" || fail "--device cuda without a GPU says: $(cat "$scratch/none")"
fi
