"""Lets the model call a function, sends the result back and prints the answer."""

import json
import os
import urllib.error
import urllib.request


def get_weather(city):
    return {"celsius": 21}  # the weather is always the same


FUNCTIONS = {"get_weather": get_weather}
TOOLS = [{"type": "function", "function": {
    "name": "get_weather",
    "description": "Current weather in a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False},
}}]


def ask(messages):
    request = urllib.request.Request(
        os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:8080/v1") + "/chat/completions",
        headers={"Authorization": "Bearer " + os.environ.get("OPENAI_API_KEY", "none")},
        data=json.dumps({"messages": messages, "temperature": 0, "tools": TOOLS}).encode(),
    )
    try:
        with urllib.request.urlopen(request) as response:
            return json.load(response)["choices"][0]
    except urllib.error.HTTPError as failure:
        raise SystemExit(failure.read().decode())  # says what to change


messages = [{"role": "user", "content": "What is the weather in Oslo?"}]
for _ in range(5):  # a model may call several times, but not for ever
    choice = ask(messages)
    messages.append(choice["message"])
    if choice["finish_reason"] != "tool_calls":
        break
    for call in choice["message"]["tool_calls"]:
        function = call["function"]
        result = FUNCTIONS[function["name"]](**json.loads(function["arguments"]))
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result)})
print(messages[-1]["content"])
