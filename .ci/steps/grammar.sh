#!/usr/bin/env bash
# Every schema of the fixtures: accepted or refused by name, its instances, and random texts
# of its masks with another validator. A plain go test takes one schema in eight.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

[ -d ../shared/fixtures/schemas ] || { echo "skipped: no ../shared/fixtures/schemas"; exit 0; }
go test -count=1 ./engine/grammar/schema -run 'TestSchemas|TestWalks' -v -args -full | tee "$scratch/schemas" | grep -v '^=== RUN\|    --- PASS'
grep -q 'walks through [0-9]\{4\} schemas' "$scratch/schemas" || fail "fewer than 1000 schemas were walked"
