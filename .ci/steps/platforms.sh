#!/usr/bin/env bash
# Other platforms and builds: the program builds, and vet or the tests of models pass.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

for target in linux/arm64 darwin/arm64 windows/amd64; do
  echo "$target"
  CGO_ENABLED=0 GOOS=${target%/*} GOARCH=${target#*/} go build -trimpath -o "$scratch/" ./cmd/quern
  CGO_ENABLED=0 GOOS=${target%/*} GOARCH=${target#*/} go vet -trimpath ./kernels/... ./formats/... ./engine/... ./cmd/...
done
echo js/wasm
CGO_ENABLED=0 GOOS=js GOARCH=wasm go build ./kernels/... ./formats/... ./engine/...
echo without gorgonia
go test -count=1 -tags nogorgonia ./engine/graph ./engine/model ./engine/cpu
