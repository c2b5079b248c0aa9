"""Prints a member of a reply that is JSON of a schema."""

import json
import os
import urllib.error
import urllib.request

SCHEMA = {
    "type": "object",
    "properties": {
        "answer": {"type": "string", "pattern": "^The capital of France is [A-Z][a-z]+[.]$"},
        "sure": {"type": "boolean"},
    },
    "required": ["answer", "sure"],
    "additionalProperties": False,
}

request = urllib.request.Request(
    os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:8080/v1") + "/chat/completions",
    headers={"Authorization": "Bearer " + os.environ.get("OPENAI_API_KEY", "none")},
    data=json.dumps({
        "messages": [{"role": "user", "content": "What is the capital of France?"}],
        "temperature": 0,
        "response_format": {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": SCHEMA}},
    }).encode(),
)
try:
    with urllib.request.urlopen(request) as response:
        choice = json.load(response)["choices"][0]
except urllib.error.HTTPError as failure:
    raise SystemExit(failure.read().decode())  # says what to change
if choice["finish_reason"] != "stop":
    raise SystemExit("the reply was cut off: " + choice["message"]["content"])
print(json.loads(choice["message"]["content"])["answer"])
