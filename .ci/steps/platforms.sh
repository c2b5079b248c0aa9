#!/usr/bin/env bash
# Other platforms and builds: the program builds, and vet or the tests of models pass.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

for target in linux/arm64 darwin/arm64 windows/amd64; do
  echo "$target"
  export CGO_ENABLED=0 GOOS=${target%/*} GOARCH=${target#*/}
  go build -o "$scratch/" ./cmd/quern
  # What differs on macOS alone stands in few packages.
  if [ "$GOOS" = darwin ]; then go vet ./kernels/... ./cmd/...; else go vet ./kernels/... ./formats/... ./engine/... ./cmd/...; fi
done
unset GOOS GOARCH
echo js/wasm
CGO_ENABLED=0 GOOS=js GOARCH=wasm go build ./kernels/... ./formats/... ./engine/...
echo without gorgonia
go test -count=1 -tags nogorgonia ./engine/graph ./engine/model ./engine/cpu
