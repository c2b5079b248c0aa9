#!/bin/sh
# Speaks a sentence into a file.
file=${1:-hello.mp3}
curl --fail-with-body -sS "${OPENAI_BASE_URL:-http://127.0.0.1:8080/v1}/audio/speech" \
  -H "Authorization: Bearer ${OPENAI_API_KEY:-none}" \
  -o "$file" \
  -d '{"input": "Hello there. How are you?", "voice": "af_bella", "response_format": "mp3"}' &&
  echo "wrote $file"
