#!/usr/bin/env bash
# A number type is one file, a constant and a row: a made-up one quantises, loads and answers.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

sed -e 's/^\tMXFP4$/&\n\tMADE_UP/' \
  -e 's/^\tActQ8_32: .*/\tMADE_UP: {Name: "MADE_UP", GGML: 200, Block: 32, Bytes: 36, With: ActQ8_32, Decode: decodeMadeUp, Encode: encodeMadeUp, Dot: dotMadeUp,\n\t\tMixtures: []Mixture{{"MADE_UP", 200, 99, true}}},\n&/' \
  kernels/quant/layouts.go >"$scratch/layouts.go"
[ "$(diff kernels/quant/layouts.go "$scratch/layouts.go" | grep -c '^>')" = 3 ] || fail "the constant and the row did not go into layouts.go"
cat >"$scratch/overlay.json" <<JSON
{"Replace": {
  "$PWD/kernels/quant/layouts.go": "$scratch/layouts.go",
  "$PWD/kernels/quant/made_up.go": "$PWD/kernels/quant/testdata/newtype/made_up.go"
}}
JSON
CGO_ENABLED=0 go build -overlay "$scratch/overlay.json" -o "$scratch/quern" ./cmd/quern
go run ./bench/ggufgen -shape smollm2-135m -layers 1 -type F16 -o "$scratch/f16.gguf"
"$scratch/quern" quantize "$scratch/f16.gguf" "$scratch/made.gguf" MADE_UP
"$scratch/quern" inspect "$scratch/made.gguf" >"$scratch/inspected"
grep -q 'MADE_UP:' "$scratch/inspected" || fail "no tensor is MADE_UP: $(cat "$scratch/inspected")"
need jq jq
head -c 3000 BUILD.md >"$scratch/text"
"$scratch/quern" bench --quality "$scratch/made.gguf" "$scratch/text" --window 64 --against "$scratch/f16.gguf" --json >"$scratch/quality"
cat "$scratch/quality"
jq -e '.scored_tokens > 300 and .kl_mean < 0.002' "$scratch/quality" >"$scratch/near" || fail "MADE_UP is not near the original"
