#!/usr/bin/env bash
# AMX, executed by an emulator where the CPU has AVX-512 and no AMX. Each instruction is a trap, so
# of the models those made for tests and those with adapters are left out: the others have all products.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

if [ "$(cpu_level)" != avx512 ]; then
  echo "skipped: it takes a CPU with AVX-512 and without AMX"
  exit
fi
go build -o "$scratch/amxrun" ./kernels/internal/amxrun
for pkg in kernels/gemm kernels/matmul kernels/dot engine/model; do
  go test -c -o "$scratch/amx.test" "./$pkg"
  (cd "$pkg" && "$scratch/amxrun" "$scratch/amx.test" -test.short -test.skip '^Test(FamiliesMade|Adapters|AdaptersMade)$')
done
