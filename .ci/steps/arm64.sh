#!/usr/bin/env bash
# NEON kernels under qemu.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

need qemu-aarch64-static qemu-user-static
# max and neoverse-n1 have SDOT; cortex-a57 has plain NEON only and faults on anything above it.
for cpu in max neoverse-n1 cortex-a57; do
  echo "$cpu"
  CGO_ENABLED=0 GOARCH=arm64 go test -count=1 -short -run 'Encodings|Levels|Rows|AddRows|MXFP4|MatMul|Attend|Exp$|ExpSum|ExpNaN|SiLU|Pool|Set|Env|Gemm|Windows|Product|Conv' \
    -exec "qemu-aarch64-static -cpu $cpu" ./kernels/...
done
GOBIN=$scratch go install "$STATICCHECK"
GOARCH=arm64 "$scratch/staticcheck" ./kernels/...
