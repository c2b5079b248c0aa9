#!/usr/bin/env bash
# Batches: a server with an embedded store that is killed while one runs, and
# three servers on three nodes of JetStream of which some are. With QUERN_SOAK all nodes lose power
# too, at once and with what they had not synced. Every line is answered once.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

build_quern
go build -o "$scratch/jobs" ./bench/jobs
"$scratch/jobs" -quern "$shared/quern" embedded -lines 3000 -kills 5 | tee "$scratch/out"
grep -q ' 0 lost, 0 answered twice' "$scratch/out" || fail "embedded: not every line once"
"$scratch/jobs" -quern "$shared/quern" cluster -lines 1500 -kills 5 | tee "$scratch/out"
grep -q ' 0 lost, 0 answered twice' "$scratch/out" || fail "cluster: not every line once"
if [ -n "${QUERN_SOAK-}" ]; then # before a release: a cluster that lost power takes a quarter of a minute to have leaders
	"$scratch/jobs" -quern "$shared/quern" outage -lines 2000 -kills 9 | tee "$scratch/out"
	grep -q ' 0 lost, 0 answered twice' "$scratch/out" || fail "outage: not every line once"
fi
