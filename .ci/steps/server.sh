#!/usr/bin/env bash
# A server with the built-in model answers, plain and streamed, and stops when it is asked to.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

start_server
for stream in false true; do
  curl -sSN --fail-with-body "$base/v1/chat/completions" -H "Authorization: Bearer $key" \
    -d '{"temperature": 0, "stream": '$stream', "messages": [{"role": "user", "content": "What is the capital of France?"}]}' >"$scratch/reply"
  # The deltas joined, or the message: node takes both shapes.
  node -e '
    const lines = require("fs").readFileSync(process.argv[1], "utf8").split("\n");
    const events = lines.map((l) => l.replace(/^data: /, "")).filter((l) => l.startsWith("{")).map((l) => JSON.parse(l));
    const text = events.map((e) => e.choices?.[0]?.delta?.content ?? e.choices?.[0]?.message?.content ?? "").join("");
    console.log(text);
    process.exit(text.includes("Paris") ? 0 : 1);
  ' "$scratch/reply" || { cat "$scratch/reply"; fail "the answer is not Paris (stream: $stream)"; }
done
stop_server
