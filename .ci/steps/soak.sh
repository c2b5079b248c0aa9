#!/usr/bin/env bash
# Faults: what a server does when clients, the disk, memory or it itself fail. QUERN_SOAK is how
# long clients of all kinds are at it; QUERN_SOAK=5m is what to run before a release. Without it the
# whole step takes a minute and a half, and leaves out the clock, for which all is compiled anew. Nothing here depends on how fast the machine is.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

build_quern
go build -o "$scratch/soak" ./bench/soak
export TMPDIR=$scratch
"$scratch/soak" -quern "$shared/quern" vanish >"$scratch/vanish" 2>&1 & # it waits for most of the time
vanish=$!
"$scratch/soak" -quern "$shared/quern" kill -times "${QUERN_SOAK_KILLS:-5}" -ready 30s
"$scratch/soak" -quern "$shared/quern" power -times "${QUERN_SOAK_KILLS:-5}"
"$scratch/soak" -quern "$shared/quern" disk
"$scratch/soak" -quern "$shared/quern" memory -for 8s
"$scratch/soak" -quern "$shared/quern" slow
"$scratch/soak" -quern "$shared/quern" load -for "${QUERN_SOAK:-20s}"
[ -z "${QUERN_SOAK-}" ] || "$scratch/soak" -quern "$shared/quern" clock
wait "$vanish" || { cat "$scratch/vanish"; fail "vanish"; }
cat "$scratch/vanish"
