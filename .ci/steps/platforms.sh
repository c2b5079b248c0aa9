#!/usr/bin/env bash
# Other platforms and builds: the program builds, packages that have files of their own for some
# platforms pass vet there, and the tests of models pass without gorgonia.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

named=$(git ls-files '*.go' '*.s' | grep -E '_(linux|darwin|windows|unix|other|amd64|arm64)(_test)?\.(go|s)$')
tagged=$(git grep -lE '^//go:build .*(linux|darwin|windows|unix|amd64|arm64)' -- '*.go')
packages=$(printf '%s\n' $named $tagged | grep -E '^(kernels|formats|engine|httpapi|cmd)/' | grep -v '/_' | xargs -n 1 dirname | sort -u | sed 's|^|./|')
[ "$(wc -w <<<"$packages")" -ge 20 ] || fail "only these packages have files for some platforms:" $packages
for target in linux/arm64 darwin/arm64 windows/amd64; do
  echo "$target"
  export CGO_ENABLED=0 GOOS=${target%/*} GOARCH=${target#*/}
  go build -trimpath -o "$scratch/" ./cmd/quern
  go vet -trimpath $(go list -e -f '{{if .GoFiles}}{{.ImportPath}}{{end}}' $packages)
done
unset CGO_ENABLED GOOS GOARCH
echo js/wasm
CGO_ENABLED=0 GOOS=js GOARCH=wasm go build ./kernels/... ./formats/... ./engine/...
echo without gorgonia
go test -count=1 -tags nogorgonia ./engine/graph ./engine/model ./engine/cpu
