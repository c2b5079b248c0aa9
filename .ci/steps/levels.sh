#!/usr/bin/env bash
# Kernels at every level of this CPU.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

go test -tags noasm ./kernels/...
all="generic avx2 avx512 amx"
level=$(cpu_level)
levels=generic
if [[ " $all " == *" $level "* ]]; then levels="${all%%"$level"*}$level"; fi
echo "levels of this machine: $levels"
for level in $levels; do
  QUERN_CPU=$level go test -count=1 ./kernels/... ./engine/cpu/... ./engine/model/...
done
