"""Prints how near each text is to the first, from -1 to 1."""

import json
import os
import urllib.error
import urllib.request

TEXTS = ["What is the capital of France?", "What is the capital of Italy?", "Tell me a story about a cat."]

request = urllib.request.Request(
    os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:8080/v1") + "/embeddings",
    headers={"Authorization": "Bearer " + os.environ.get("OPENAI_API_KEY", "none")},
    data=json.dumps({"model": "quern-tiny", "input": TEXTS}).encode(),
)
try:
    with urllib.request.urlopen(request) as response:
        vectors = [item["embedding"] for item in json.load(response)["data"]]
except urllib.error.HTTPError as failure:
    raise SystemExit(failure.read().decode())  # says what to change

# Vectors have length 1, so the cosine is the sum of products.
for text, vector in zip(TEXTS, vectors):
    print(f"{sum(a * b for a, b in zip(vectors[0], vector)):.2f}  {text}")
