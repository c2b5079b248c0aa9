#!/usr/bin/env bash
# The unit exposes little, the alerts fire when they should, and name only metrics there are.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

need systemd-analyze systemd
need promtool prometheus
exposure=$(systemd-analyze security --offline=true deploy/systemd/quern.service | sed -n 's/.*exposure level for [^:]*: \([0-9.]*\).*/\1/p')
echo "exposure of the unit: $exposure"
awk -v x="$exposure" 'BEGIN { exit !(x != "" && x <= 1.5) }' || fail "the unit's exposure is $exposure, more than 1.5"
(cd deploy/prometheus && promtool check rules alerts.yml && promtool test rules alerts_test.yml)
for name in $(grep -oE 'vllm:[a-z_]+|http_[a-z_]+|quern_[a-z_]+' deploy/prometheus/alerts.yml | sed 's/_bucket$//' | sort -u); do
  grep -qF "\"$name\"" httpapi/internal/metrics/metrics.go || fail "an alert names $name, which is not in /metrics"
done
