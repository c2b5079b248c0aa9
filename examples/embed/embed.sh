#!/bin/sh
# Asks for the vectors of three texts, in one answer.
curl --fail-with-body -sS "${OPENAI_BASE_URL:-http://127.0.0.1:8080/v1}/embeddings" \
  -H "Authorization: Bearer ${OPENAI_API_KEY:-none}" \
  -d '{
    "model": "quern-tiny",
    "input": ["What is the capital of France?", "What is the capital of Italy?", "Tell me a story about a cat."]
  }'
