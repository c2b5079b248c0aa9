#!/usr/bin/env bash
# The README's test command.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

go test ./...
