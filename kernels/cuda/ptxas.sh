#!/bin/sh
# ptxas.sh assembles the committed PTX and prints what each kernel takes:
# ptxas.sh [arch ...], sm_90a unless told. Modules for later ones are left out. It
# fails where something does not assemble, or keeps in memory what belongs in
# registers: spills, or a stack.
#
# Needs NVIDIA's ptxas, from PATH or $PTXAS. It is not free software and nothing
# needs it, so CI does not run this: it is for who changes kernels.
set -eu
cd "$(dirname "$0")"
ptxas=${PTXAS:-ptxas}
command -v "$ptxas" >/dev/null || { echo "ptxas.sh: no $ptxas" >&2; exit 2; }
log=$(mktemp) text=$(mktemp)
trap 'rm -f "$log" "$text"' EXIT
status=0
printf '%-8s %-18s %-28s %9s %6s %6s %6s\n' arch module kernel registers spilled stack shared
for arch in "${@:-sm_90a}"; do
  have=${arch#sm_}
  for f in ptx/*.ptx.gz; do
    module=${f#ptx/} module=${module%.ptx.gz}
    gunzip -c "$f" >"$text"
    target=$(sed -n 's/^\.target sm_//p' "$text")
    case $target in
    *a) [ "$target" = "$have" ] || continue ;;
    *) [ "$target" -le "${have%a}" ] || continue ;;
    esac
    if ! "$ptxas" -arch="$arch" -v -o /dev/null "$text" 2>"$log"; then
      cat "$log" >&2
      status=1
      continue
    fi
    awk -v arch="$arch" -v module="$module" '
      /Compiling entry function/ { split($0, part, "\047"); kernel = part[2] }
      /bytes stack frame/ { stack = $1; spilled = $5 + $9 }
      /Used [0-9]+ registers/ {
        match($0, /Used [0-9]+/); registers = substr($0, RSTART + 5, RLENGTH - 5)
        shared = match($0, /[0-9]+ bytes smem/) ? substr($0, RSTART, RLENGTH - 11) : 0
        printf "%-8s %-18s %-28s %9d %6d %6d %6d\n", arch, module, kernel, registers, spilled, stack, shared
        if (spilled + stack > 0) bad = 1
      }
      END { exit bad }' "$log" || status=1
  done
done
exit $status
