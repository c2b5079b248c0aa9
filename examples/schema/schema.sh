#!/bin/sh
# Asks for a reply that is JSON of a schema: it is the "content" of the message.
curl --fail-with-body -sS "${OPENAI_BASE_URL:-http://127.0.0.1:8080/v1}/chat/completions" \
  -H "Authorization: Bearer ${OPENAI_API_KEY:-none}" \
  -d '{
    "messages": [{"role": "user", "content": "What is the capital of France?"}],
    "temperature": 0,
    "response_format": {"type": "json_schema", "json_schema": {"name": "reply", "strict": true, "schema": {
      "type": "object",
      "properties": {
        "answer": {"type": "string", "pattern": "^The capital of France is [A-Z][a-z]+[.]$"},
        "sure": {"type": "boolean"}
      },
      "required": ["answer", "sure"],
      "additionalProperties": false
    }}}
  }'
