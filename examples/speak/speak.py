"""Speaks a sentence into a file."""

import json
import os
import shutil
import sys
import urllib.error
import urllib.request

file = sys.argv[1] if len(sys.argv) > 1 else "hello.mp3"
request = urllib.request.Request(
    os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:8080/v1") + "/audio/speech",
    headers={"Authorization": "Bearer " + os.environ.get("OPENAI_API_KEY", "none")},
    data=json.dumps({"input": "Hello there. How are you?", "voice": "af_bella", "response_format": "mp3"}).encode(),
)
try:
    with urllib.request.urlopen(request) as response, open(file, "wb") as out:
        shutil.copyfileobj(response, out)
except urllib.error.HTTPError as failure:
    raise SystemExit(failure.read().decode())  # says what to change
print("wrote", file)
