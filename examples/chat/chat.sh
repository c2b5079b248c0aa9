#!/bin/sh
# Asks for a reply as events: one "data:" line for every piece of text, "[DONE]" last.
curl --no-buffer --fail-with-body -sS "${OPENAI_BASE_URL:-http://127.0.0.1:8080/v1}/chat/completions" \
  -H "Authorization: Bearer ${OPENAI_API_KEY:-none}" \
  -d '{
    "messages": [{"role": "user", "content": "What is the capital of France?"}],
    "temperature": 0,
    "stream": true
  }'
