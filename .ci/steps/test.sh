#!/usr/bin/env bash
# The README's test command, then those tests whole that take a sample of their cases there.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

go test ./...
QUERN_TEST_WHOLE=1 go test -run '^Test(Random.*|DraftsChangeNothing|TimesChangeNothing|RealVocabularies|Fixtures|Mutated|Distributions)$' \
  ./engine/{sched,grammar,wire,onnx,sample}
