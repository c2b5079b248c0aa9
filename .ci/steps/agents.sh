#!/usr/bin/env bash
# Agents on the command line, Codex and Cline, which are programs of 600 MB (bench/clients/agents).
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

need node nodejs npm
cp -r bench/clients "$scratch/bench"
cp engine/builtin/quern-tiny.gguf "$scratch/bench/agents"
start_server --config "$scratch/bench/agents/quern.yaml"
cd "$scratch/bench/agents"
npm_install
BASE_URL=$base API_KEY=$key CHAT_MODEL=last-question node agents.mjs | tee "$scratch/checks" || fail "agents.mjs"
grep -q '^2 passed, 0 failed' "$scratch/checks" || fail "not both agents passed"
stop_server
