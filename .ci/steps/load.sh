#!/usr/bin/env bash
# 64 streams at once.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

start_server
QUERN_API_KEY=$key go run ./bench/serve -url "$base" -n 64 -d 15s -pid "$server"
stop_server
