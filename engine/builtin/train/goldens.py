"""Writes testdata/greedy.json: greedy replies of the exported file, computed in float32 from the dequantised weights.

goldens.py MODEL.gguf TOKENIZER.json OUT.json

compare is the number of tokens before the first step whose two best logits are less than 0.05 apart; after that, rounding may
choose otherwise and a free-running test must stop comparing. ties holds all such steps: a test that feeds the tokens given here
can compare every other step of the reply.
"""
import hashlib
import json
import sys

import torch

import tools as T
from export import load
from model import greedy
from tokenizer import Tokenizer

HELPFUL = {"role": "system", "content": "You are a helpful assistant."}
U = lambda s: {"role": "user", "content": s}
A = lambda s: {"role": "assistant", "content": s}
CHATS = [
    ("hello", [U("Hello!")]), ("who", [U("Who are you?")]), ("france", [U("What is the capital of France?")]),
    ("france system", [HELPFUL, U("what is the capital of france")]), ("japan", [HELPFUL, U("Tell me the capital of Japan.")]),
    ("country", [U("Which country has Nairobi as its capital?")]), ("two plus two", [U("What is 2+2?")]), ("sum", [U("How much is 17 plus 8?")]),
    ("difference", [U("What is 15 - 6?")]), ("product", [U("What is 7 times 8?")]), ("count", [U("Count from one to ten.")]),
    ("opposite", [U("What is the opposite of hot?")]), ("colour", [U("What colour is the sky?")]), ("day", [U("What day comes after Tuesday?")]),
    ("plural", [U("What is the plural of mouse?")]), ("spell", [U("Spell water.")]), ("say hello", [U("Say hello.")]),
    ("yes or no", [U("Is a dog an animal?")]), ("not taught", [U("How do vaccines work?")]), ("not taught, other script", [U("你好吗?")]),
    ("not taught, accents", [U("Où est la gare, s'il vous plaît ?")]), ("can do", [U("What can you do?")]),
    ("turns", [HELPFUL, U("My name is Anna."), A("Hello Anna! Nice to meet you."), U("What is the capital of Spain?"), A("The capital of Spain is Madrid."), U("What is my name?")]),
    ("wolf sentence", [U("Write one sentence about a wolf.")]), ("hen sentence", [U("Write one sentence about a hen.")]), ("fox story", [U("Tell me a story about a fox.")]), ("long story", [U("Write a very long story.")]),
]
def function(name, text, **params):
    return {"type": "function", "function": {"name": name, "description": text, "parameters": {
        "type": "object", "properties": {k: {"type": v} for k, v in params.items()}, "required": list(params), "additionalProperties": False}}}


def calls(*xs):
    return {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": {"name": n, "arguments": json.dumps(a)}} for n, a in xs]}


WEATHER, TIME = function("get_weather", "Current weather in a city", city="string"), function("get_time", "Current time in a city", city="string")
ADD, LOOKUP = function("add", "Add two numbers", a="integer", b="integer"), function("lookup", "Look something up", query="string")
R = lambda s: {"role": "tool", "content": s}
PARIS = [U("What is the weather in Paris?"), calls(("get_weather", {"city": "Paris"}))]
TOOLS = [
    ("weather", [U("What is the weather in Paris?")], [WEATHER]), ("weather, use the tool", [U("What is the weather in Paris? Use the tool.")], [WEATHER]), ("weather, city alone", [U("Paris?")], [WEATHER]),
    ("weather, new city", [HELPFUL, U("What is the weather in Tulsa?")], [WEATHER, TIME]), ("time", [U("What time is it in Tokyo?")], [WEATHER, TIME]), ("add", [U("What is 1234 + 5678?")], [ADD]),
    ("lookup", [U("Look up black holes.")], [LOOKUP, ADD]), ("two calls", [U("What is the weather in Oslo and Rome?")], [WEATHER]), ("no call", [U("What is the capital of France?")], [WEATHER, ADD]),
    ("hello beside tools", [U("Hello!")], [WEATHER, TIME, ADD]), ("weather told", PARIS + [R('{"temp_c": 21}')], [WEATHER]), ("weather told, no tools", PARIS + [R("21 C")], []),
    ("two told", [U("What is the weather in Oslo and Rome?"), calls(("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Rome"})), R('{"temp_c": 4, "sky": "cloudy"}'), R('{"temp_c": 23, "sky": "sunny"}')], [WEATHER]),
    ("sum told", [U("What is 1234 + 5678?"), calls(("add", {"a": 1234, "b": 5678})), R("6912")], [ADD]),
]
RAW = [("raw story", "Once upon a time"), ("raw fox story", "Once upon a time there was a little fox called Pip."), ("raw capital", "The capital of Norway is"), ("raw counting", "1, 2, 3, 4,")]


def turns(messages, tools):
    """(role, content) as the chat template writes them: tools in the first turn, results of tools in one of the user."""
    out, before = [], ""
    if tools:
        if messages[0]["role"] == "system":
            before, messages = messages[0]["content"], messages[1:]
        out.append(("system", T.system([json.dumps(t, ensure_ascii=False) for t in tools], before)))
    last = None
    for m in messages:
        if m["role"] == "tool":
            if last == "tool":
                out[-1] = ("user", out[-1][1] + "\n" + T.response([m["content"]]))
            else:
                out.append(("user", T.response([m["content"]])))
        elif "tool_calls" in m:
            out.append(("assistant", "\n".join(T.call(c["function"]["name"], json.loads(c["function"]["arguments"])) for c in m["tool_calls"])))
        else:
            out.append((m["role"], m["content"]))
        last = m["role"]
    return out


def main():
    path, tokens, out = sys.argv[1:4]
    torch.set_num_threads(1)
    model, tok = load(path), Tokenizer(tokens)
    data = open(path, "rb").read()
    cases = []
    for name, x, *tools in CHATS + TOOLS + RAW:
        tools = tools[0] if tools else []
        if isinstance(x, str):
            prompt, ids = x, tok.encode(x, special=False)
        else:
            prompt, ids = "", []
            for role, content in turns(x, tools):
                head, tail = f"<|im_start|>{role}\n", "<|im_end|>\n"
                prompt += head + content + tail
                ids += tok.encode(head) + tok.encode(content, special=False) + tok.encode(tail)
            prompt += "<|im_start|>assistant\n"
            ids += tok.encode("<|im_start|>assistant\n")
        got, gap = greedy(model, ids, (0, 2), 900, margins=True)
        compare = next((i for i, g in enumerate(gap) if g < 0.05), len(gap))
        cases.append({"name": name, "messages": None if isinstance(x, str) else x, **({"tools": tools} if tools else {}), "prompt": prompt, "promptTokens": ids, "text": tok.decode(got),
                      "tokens": got, "compare": compare, "ties": [i for i, g in enumerate(gap) if g < 0.05], "smallestMargin": round(min(gap), 4)})
    top = {"model": "quern-tiny", "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest(),
           "made": f"train/goldens.py, torch {torch.__version__}, float32, weights dequantised from Q8_0, greedy to <|im_end|> or <|endoftext|>, which is the last token"}
    with open(out, "w") as f:
        body = ",\n".join("    " + json.dumps(c, ensure_ascii=False) for c in cases)
        f.write(json.dumps(top, ensure_ascii=False, indent=2)[:-2] + ',\n  "cases": [\n' + body + "\n  ]\n}\n")
    for c in cases:
        print(f"{c['name']}: {c['compare']}/{len(c['tokens'])} {c['text'][:110]!r}")


if __name__ == "__main__":
    main()
