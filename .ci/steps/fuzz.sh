#!/usr/bin/env bash
# Every fuzz target for FUZZTIME, 2 s unless said otherwise.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

FUZZTIME=${FUZZTIME:-2s}
targets=0
for pkg in $(go list ./...); do
  tests=$(go test -list '^Fuzz' "$pkg")
  for target in $(grep '^Fuzz' <<<"$tests" || true); do
    echo "$pkg $target"
    # Go's fuzzer sometimes ends with "context deadline exceeded" when its time runs
    # out; that is not a finding, which would name its input. Minimising what is only
    # interesting takes all the time there is, so it is kept short.
    for try in 1 2 3; do
      if go test -run '^$' -fuzz "^$target\$" -fuzztime "$FUZZTIME" -fuzzminimizetime 5x -parallel 2 "$pkg" >"$scratch/fuzz" 2>&1; then
        break
      fi
      if [ "$try" = 3 ] || ! grep -q 'context deadline exceeded' "$scratch/fuzz" || grep -q 'Failing input' "$scratch/fuzz"; then
        cat "$scratch/fuzz"
        fail "$pkg $target"
      fi
    done
    targets=$((targets + 1))
  done
done
[ "$targets" -ge 5 ] || fail "only $targets fuzz targets were found"
