#!/usr/bin/env bash
# Three querns behind haproxy and behind nginx, as deploy/proxy configures them: events come as
# they are made, sessions and prefixes stay with a server, one leaves and one is killed under load.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

need haproxy haproxy
need nginx nginx-light
build_quern
go build -o "$scratch/proxy" ./bench/proxy
haproxy -c -q -f deploy/proxy/haproxy.cfg
"$scratch/proxy" -quern "$shared/quern" -kind haproxy deploy/proxy/haproxy.cfg
"$scratch/proxy" -quern "$shared/quern" -kind nginx deploy/proxy/nginx.conf
