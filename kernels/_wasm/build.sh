#!/usr/bin/env bash
# build.sh IN.wasm OUT.wasm merges the kernels of dot.c into a program that was
# built with GOOS=js GOARCH=wasm -tags simd128. Needs what kernels.sh needs and npm's
# binaryen (BINARYEN names its bin folder; without it wasm-merge is looked for in PATH).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
merge=${BINARYEN:+$BINARYEN/}wasm-merge
kern=${2%.wasm}.kernels.wasm
"$here/kernels.sh" "$kern"
if "${merge%merge}dis" --all-features "$kern" | grep -E 'global.(get|set) \$__stack_pointer|\(data'; then
  echo "dot.c uses the stack or data, which would lie in Go's memory" >&2
  exit 1
fi
"$merge" --all-features \
  "$1" go "$kern" quern -o "$2"
rm "$kern"
