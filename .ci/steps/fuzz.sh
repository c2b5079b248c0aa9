#!/usr/bin/env bash
# Every fuzz target for FUZZTIME, half a second unless said otherwise.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

FUZZTIME=${FUZZTIME:-500ms}
targets=0
for dir in $(git grep -l '^func Fuzz' -- '*_test.go' | xargs dirname | sort -u); do
  names=$(git grep -h '^func Fuzz' -- "$dir/*_test.go" ":!$dir/*/*" | sed 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/')
  go test -c -fuzz=. -o "$scratch/fuzz.test" "./$dir"
  for target in $names; do
    echo "$dir $target"
    # Go's fuzzer sometimes ends with "context deadline exceeded" when its time runs
    # out; that is not a finding, which would name its input. Minimising what is only
    # interesting takes all the time there is, so it is kept short.
    for try in 1 2 3; do
      if (cd "$dir" && "$scratch/fuzz.test" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "$FUZZTIME" -test.fuzzminimizetime 5x \
        -test.parallel 2 -test.fuzzcachedir "$scratch/corpus/$dir") >"$scratch/fuzz" 2>&1; then
        break
      fi
      if [ "$try" = 3 ] || ! grep -q 'context deadline exceeded' "$scratch/fuzz" || grep -q 'Failing input' "$scratch/fuzz"; then
        cat "$scratch/fuzz"
        fail "$dir $target"
      fi
    done
    targets=$((targets + 1))
  done
done
[ "$targets" -ge 80 ] || fail "only $targets fuzz targets were found"
