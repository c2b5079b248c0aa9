#!/usr/bin/env bash
# The site in which quern runs in a browser: it is written, and Chromium uses it.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

need node nodejs
need npm npm
need chromium chromium
need "wasm-ld-$CLANG_VERSION" "clang-$CLANG_VERSION" "lld-$CLANG_VERSION"
CLANG=clang-$CLANG_VERSION go run ./cmd/quern-wasm -compress=false "$scratch/site"
cp -r cmd/quern-wasm/test "$scratch/test"
node cmd/quern-wasm/test/team.mjs "$scratch/site/engine/kernels.wasm"
golden=$(cd ../shared 2>/dev/null && pwd -P) || golden= # as the bundler names files, which sees through links
(cd "$scratch/test" && npm_install && CHROMIUM=$(command -v chromium) node site.mjs "$scratch/site" ${golden:+"$golden"})
