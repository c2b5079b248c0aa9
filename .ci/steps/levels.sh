#!/usr/bin/env bash
# Kernels at every level below that of this CPU.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

# The step named test runs the highest level of this CPU, and portable Go is the level generic.
go test -tags noasm ./kernels/... ./engine/cpu/... ./engine/model/...
all="generic avx2 avx512 amx"
level=$(cpu_level)
levels=
if [[ " $all " == *" $level "* ]]; then levels=${all%%"$level"*}; fi
levels=${levels#generic}
echo "levels below that of this machine:$levels"
for level in $levels; do
  QUERN_CPU=$level go test -count=1 ./kernels/... ./engine/cpu/... ./engine/model/...
done
# What is chosen by name is what is built without assembly.
QUERN_CPU=generic go test -count=1 ./kernels/dot ./kernels/gemm ./kernels/vec ./kernels/attention
