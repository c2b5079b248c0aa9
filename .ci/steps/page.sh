#!/usr/bin/env bash
# The page: dist is what src makes, and a browser can use it.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

need node nodejs
need npm npm
export QUERN_MODEL=$PWD/engine/model/testdata/smollm2-F32.gguf # what the tests pull
page=$scratch/page
mkdir "$page"
git ls-files -z --cached --others --exclude-standard httpapi/page | tar -c --null -T - | tar -x -C "$page" --strip-components=2
pushd "$page" >/dev/null
if grep -n '"resolved"' package-lock.json; then fail "package-lock.json names a registry; .npmrc keeps npm from that"; fi
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
npm run --silent types
node build.mjs "$scratch/dist"
node test/same.mjs "$scratch/dist" dist || fail "httpapi/page/dist is not what its sources make: npm ci && npm run build there"
popd >/dev/null
need chromium chromium
need python3 python3
build_quern
QUERN=$shared/quern CHROMIUM=$(command -v chromium) node "$page/test/run.mjs"
