#!/usr/bin/env bash
# bench/web/run.sh [FLAGS of web.mjs]: writes the site and models of SmolLM2 135M's shape, and
# prints how fast they are next to wllama, then how long the site's first token takes. Needs
# node, npm, Chromium (CHROMIUM), clang and wasm-ld (CLANG), and a quiet machine.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd bench/web && npm install --ignore-scripts --no-audit --no-fund --loglevel=error)
go run ./cmd/quern-wasm -compress=false "$work/site"
for t in Q8_0 Q4_K_M; do
  go run ./bench/ggufgen -shape smollm2-135m -type "$t" -o "$work/smollm2-135m-$t.gguf"
done
node bench/web/web.mjs "$@" "$work/site" "$work"/*.gguf
node bench/web/cold.mjs "$work/site"
