#!/bin/sh
# Writes down what is said in a file, of any common format.
curl --fail-with-body -sS "${OPENAI_BASE_URL:-http://127.0.0.1:8080/v1}/audio/transcriptions" \
  -H "Authorization: Bearer ${OPENAI_API_KEY:-none}" \
  -F "file=@${1:-hello.mp3}" \
  -F model=whisper-1 \
  -F language=en \
  -F response_format=text
