#!/usr/bin/env bash
# What the endpoint picker of the Gateway API Inference Extension reads of /metrics, with its
# own extractor, and that a scrape of twenty models takes less than 5 ms.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

(cd bench/gateway && silent gofmt -l . && go vet . && go test -count=1 -v .)
go test -run '^$' -bench Scrape -benchtime 200x ./httpapi | tee "$scratch/bench"
awk '/^BenchmarkScrape/ { seen = 1; if ($3 >= 5e6) { print "FAIL: a scrape takes " $3 / 1e6 " ms"; exit 1 } } END { if (!seen) exit 1 }' "$scratch/bench"
