#!/usr/bin/env bash
# Kernels as WebAssembly under node, with and without SIMD, and what has a twin there or is only there.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

need node nodejs
need "wasm-ld-$CLANG_VERSION" "clang-$CLANG_VERSION" "lld-$CLANG_VERSION"
(mkdir "$scratch/binaryen" && cd "$scratch/binaryen" && npm_install "binaryen@$BINARYEN_VERSION")
for tags in "" simd128; do
  echo "tags: $tags"
  CLANG=clang-$CLANG_VERSION BINARYEN=$scratch/binaryen/node_modules/.bin GOOS=js GOARCH=wasm \
    go test -count=1 -short -tags "$tags" -exec "$PWD/kernels/_wasm/run.sh" ./kernels/{vec,gemm,matmul,attention,conv,recurrent,threads,quant,dot} ./kernels/internal/isa ./formats/weights
done
GOOS=js GOARCH=wasm go test -count=1 -exec "$(go env GOROOT)/lib/wasm/go_js_wasm_exec" ./httpapi/internal/metrics ./engine/promise
