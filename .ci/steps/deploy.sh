#!/usr/bin/env bash
# The unit exposes little, the alerts fire when they should, and alerts and dashboard name only
# metrics there are.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

need systemd-analyze systemd
need promtool prometheus
need jq jq
exposure=$(systemd-analyze security --offline=true deploy/systemd/quern.service | sed -n 's/.*exposure level for [^:]*: \([0-9.]*\).*/\1/p')
echo "exposure of the unit: $exposure"
awk -v x="$exposure" 'BEGIN { exit !(x != "" && x <= 1.5) }' || fail "the unit's exposure is $exposure, more than 1.5"
(cd deploy/prometheus && promtool check config prometheus.yml && promtool test rules alerts_test.yml)

# The dashboard's expressions are PromQL; each is checked as the rule of a series.
jq '{groups: [{name: "dashboard", rules: [.panels[].targets[]?] | to_entries
  | map({record: "panel:\(.key)", expr: .value.expr | gsub("\\$__rate_interval"; "5m")})}]}' deploy/grafana/quern.json >"$scratch/dashboard.yml"
promtool check rules "$scratch/dashboard.yml"

# What a server shows that has answered something, with its cache on disk.
start_server --prefix-cache "$scratch/cache"
for path in chat/completions completions; do
  curl -sf -H "Authorization: Bearer $key" "$base/v1/$path" -o "$scratch/answer" \
    -d '{"prompt": "one two one two one two", "messages": [{"role": "user", "content": "one two one two one two"}]}'
done
curl -sf -H "Authorization: Bearer $key" "$base/metrics" | sed -n 's/^\([a-zA-Z0-9_:]*\)[{ ].*/\1/p' | sort -u >"$scratch/there"
stop_server
{
  jq -r '[.panels[].targets[]?.expr, (.templating.list[].definition // empty)] | .[]' deploy/grafana/quern.json | grep -oE '[a-z0-9_:]+\{' | tr -d '{'
  grep -oE '(vllm:|http_|quern_)[a-z0-9_]+' deploy/prometheus/alerts.yml deploy/helm/quern/templates/scaledobject.yaml -h
} | grep -vx up | sort -u >"$scratch/named"
echo "$(wc -l <"$scratch/named") metrics are named"
# Some are there only after more than a chat, as the times of spoken turns.
for name in $(comm -23 "$scratch/named" "$scratch/there"); do
  grep -qF "\"${name%_bucket}\"" httpapi/internal/metrics/metrics.go || fail "$name is named and not in /metrics"
done
