"""Prints a reply piece by piece, as the model writes it."""

import json
import os
import urllib.error
import urllib.request

request = urllib.request.Request(
    os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:8080/v1") + "/chat/completions",
    headers={"Authorization": "Bearer " + os.environ.get("OPENAI_API_KEY", "none")},
    data=json.dumps({
        "messages": [{"role": "user", "content": "What is the capital of France?"}],
        "temperature": 0,
        "stream": True,
    }).encode(),
)
try:
    with urllib.request.urlopen(request) as response:
        for line in response:
            event = line.decode().removeprefix("data: ").strip()
            if not event.startswith("{"):
                continue  # an empty line, a comment that keeps the connection open, or [DONE]
            chunk = json.loads(event)
            if "error" in chunk:
                raise SystemExit(chunk["error"]["message"])
            for choice in chunk["choices"]:
                print(choice["delta"].get("content") or "", end="", flush=True)
except urllib.error.HTTPError as failure:
    raise SystemExit(failure.read().decode())  # says what to change
print()
