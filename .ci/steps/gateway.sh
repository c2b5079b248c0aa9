#!/usr/bin/env bash
# What the endpoint picker of the Gateway API Inference Extension reads of /metrics, with its
# own extractor; the Helm chart, as Helm renders it and Kubernetes and the operators decode it; the
# compose file, as compose loads it.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

(cd bench/gateway && silent gofmt -l . && go vet ./... && go test -count=1 -v ./...)
go test -run '^$' -bench Scrape -benchtime 200x ./httpapi # of twenty models: the goal is 5 ms
