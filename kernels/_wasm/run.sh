#!/usr/bin/env bash
# run.sh PROGRAM ARGS... runs a program under node, with the kernels merged in if it
# wants them:
#
#	GOOS=js GOARCH=wasm go test -tags simd128 -exec "$PWD/kernels/_wasm/run.sh" ./kernels/quant
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
program=$1
shift
if LC_ALL=C grep -aqP 'quern\x03dot' "$program"; then # an import: module, length, name
  merged=$(mktemp --suffix .wasm)
  trap 'rm -f "$merged"' EXIT
  "$here/build.sh" "$program" "$merged"
  program=$merged
fi
"$(go env GOROOT)/lib/wasm/go_js_wasm_exec" "$program" "$@"
