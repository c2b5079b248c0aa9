"""Writes down what is said in a file, of any common format."""

import os
import sys
import urllib.error
import urllib.request
import uuid

file = sys.argv[1] if len(sys.argv) > 1 else "hello.mp3"
fields = {"model": "whisper-1", "language": "en", "response_format": "text"}

# The standard library has no multipart encoder; this is all it takes.
boundary = uuid.uuid4().hex
body = b""
for name, value in fields.items():
    body += f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
body += f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="audio"\r\n\r\n'.encode()
with open(file, "rb") as audio:
    body += audio.read()
body += f"\r\n--{boundary}--\r\n".encode()

request = urllib.request.Request(
    os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:8080/v1") + "/audio/transcriptions",
    headers={
        "Authorization": "Bearer " + os.environ.get("OPENAI_API_KEY", "none"),
        "Content-Type": "multipart/form-data; boundary=" + boundary,
    },
    data=body,
)
try:
    with urllib.request.urlopen(request) as response:
        print(response.read().decode().strip())
except urllib.error.HTTPError as failure:
    raise SystemExit(failure.read().decode())  # says what to change
