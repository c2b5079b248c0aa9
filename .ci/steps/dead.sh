#!/usr/bin/env bash
# No function that neither a program nor a test calls.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

silent go run "$DEADCODE" -test ./...
