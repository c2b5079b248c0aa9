"""Writes a trained model as GGUF v3: matrices Q8_0, norms F32. export.py MODEL.pt TOKENIZER.json OUT.gguf

load() reads such a file back, with the matrices dequantised, for eval.py and goldens.py.
"""
import struct
import sys

import numpy as np
import torch

import tools
from model import CONFIG, Model
from tokenizer import SPECIAL, Tokenizer


def quoted(s):
    return "'" + s.replace("\n", "\\n") + "'"


# ChatML. Tools, calls and results stand in Hermes's tags, as in the templates of Qwen 2.5 and Hermes 2 Pro.
TEMPLATE = """{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0]['role'] == 'system' %}
        {{- messages[0]['content'] + '\\n\\n' }}
    {%- endif %}
    {{- HEAD }}
    {%- for tool in tools %}
        {{- '\\n' }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- TAIL + '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message['role'] == 'tool' %}
        {%- if loop.first or messages[loop.index0 - 1]['role'] != 'tool' %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\\n<tool_response>\\n' + message['content'] + '\\n</tool_response>' }}
        {%- if loop.last or messages[loop.index0 + 1]['role'] != 'tool' %}
            {{- '<|im_end|>\\n' }}
        {%- endif %}
    {%- elif message['role'] == 'assistant' and message['tool_calls'] %}
        {{- '<|im_start|>assistant' }}
        {%- if message['content'] %}
            {{- '\\n' + message['content'] }}
        {%- endif %}
        {%- for call in message['tool_calls'] %}
            {{- '\\n<tool_call>\\n{"name": "' + call['function']['name'] + '", "arguments": ' }}
            {%- if call['function']['arguments'] is string %}
                {{- call['function']['arguments'] }}
            {%- else %}
                {{- call['function']['arguments'] | tojson }}
            {%- endif %}
            {{- '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- elif not (tools and loop.first and message['role'] == 'system') %}
        {{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}""".replace("HEAD", quoted(tools.HEAD)).replace("TAIL", quoted(tools.TAIL))

U32, I32, F32, BOOL, STR, ARR = 4, 5, 6, 7, 8, 9
TYPE_F32, TYPE_Q8_0 = 0, 8


def enc(t, v):
    if t == STR:
        v = v.encode()
        return struct.pack("<Q", len(v)) + v
    if t == ARR:
        et, xs = v
        return struct.pack("<IQ", et, len(xs)) + b"".join(enc(et, x) for x in xs)
    return struct.pack({U32: "<I", I32: "<i", F32: "<f", BOOL: "<?"}[t], v)


def q8_0(x):
    """Blocks of 32: a float16 scale and 32 signed bytes."""
    b = x.reshape(-1, 32).astype(np.float32)
    d = np.abs(b).max(1) / np.float32(127)
    inv = np.where(d > 0, 1 / np.where(d > 0, d, 1), 0).astype(np.float32)
    y = b * inv[:, None]
    q = (np.sign(y) * np.floor(np.abs(y) + 0.5)).astype(np.int8)
    out = np.empty((len(b), 34), np.uint8)
    out[:, :2] = d.astype("<f2").view(np.uint8).reshape(-1, 2)
    out[:, 2:] = q.view(np.uint8)
    return out.tobytes()


def un_q8_0(data, shape):
    b = np.frombuffer(data, np.uint8).reshape(-1, 34)
    d = b[:, :2].copy().view("<f2").astype(np.float32)
    return (b[:, 2:].copy().view(np.int8).astype(np.float32) * d).reshape(shape)


def write(state, tok, path):
    c = CONFIG
    kv = [
        ("general.architecture", STR, "llama"), ("general.type", STR, "model"), ("general.name", STR, "quern-tiny"),
        ("general.author", STR, "quern"), ("general.license", STR, "apache-2.0"),
        ("general.description", STR, "A very small demonstration model that ships inside quern. Not an assistant."),
        ("general.languages", ARR, (STR, ["en"])), ("general.quantization_version", U32, 2), ("general.file_type", U32, 7),
        ("llama.block_count", U32, c["layers"]), ("llama.context_length", U32, c["ctx"]), ("llama.embedding_length", U32, c["dim"]),
        ("llama.feed_forward_length", U32, c["ff"]), ("llama.attention.head_count", U32, c["heads"]),
        ("llama.attention.head_count_kv", U32, c["kv_heads"]), ("llama.attention.layer_norm_rms_epsilon", F32, c["eps"]),
        ("llama.rope.dimension_count", U32, c["dim"] // c["heads"]), ("llama.rope.freq_base", F32, c["base"]),
        ("llama.vocab_size", U32, c["vocab"]),
        ("tokenizer.ggml.model", STR, "gpt2"), ("tokenizer.ggml.pre", STR, "smollm"),
        ("tokenizer.ggml.tokens", ARR, (STR, tok.tokens)),
        ("tokenizer.ggml.token_type", ARR, (I32, [3] * len(SPECIAL) + [1] * (len(tok.tokens) - len(SPECIAL)))),
        ("tokenizer.ggml.merges", ARR, (STR, [a + " " + b for a, b in tok.merges])),
        ("tokenizer.ggml.bos_token_id", U32, 0), ("tokenizer.ggml.eos_token_id", U32, 2), ("tokenizer.ggml.padding_token_id", U32, 0),
        ("tokenizer.ggml.add_bos_token", BOOL, False), ("tokenizer.chat_template", STR, TEMPLATE),
    ]
    infos, blobs, at = b"", [], 0
    for n, w in state.items():
        x = w.detach().float().numpy()
        t = TYPE_Q8_0 if x.ndim == 2 else TYPE_F32
        data = q8_0(x) if t == TYPE_Q8_0 else x.astype("<f4").tobytes()
        infos += enc(STR, n + ".weight") + struct.pack("<I", x.ndim) + b"".join(struct.pack("<Q", k) for k in reversed(x.shape)) + struct.pack("<IQ", t, at)
        data += b"\0" * (-len(data) % 32)
        blobs.append(data)
        at += len(data)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(blobs), len(kv)) + b"".join(enc(STR, k) + struct.pack("<I", t) + enc(t, v) for k, t, v in kv) + infos
    head += b"\0" * (-len(head) % 32)
    with open(path, "wb") as f:
        f.write(head + b"".join(blobs))
    return len(head) + at


def load(path):
    """The model of a file that write made, dequantised to float32."""
    d = open(path, "rb").read()
    at = 24
    _, tensors, kvs = struct.unpack_from("<IQQ", d, 4)

    def get(f):
        nonlocal at
        v = struct.unpack_from("<" + f, d, at)[0]
        at += struct.calcsize("<" + f)
        return v

    def text():
        nonlocal at
        n = get("Q")
        at += n
        return d[at - n:at].decode()

    def value(t):
        if t == STR:
            return text()
        if t == ARR:
            et, n = get("I"), get("Q")
            return [value(et) for _ in range(n)]
        return get({U32: "I", I32: "i", F32: "f", BOOL: "?"}[t])

    for _ in range(kvs):
        text()
        value(get("I"))
    info = []
    for _ in range(tensors):
        n = text()
        shape = [get("Q") for _ in range(get("I"))][::-1]
        info.append((n, shape, get("I"), get("Q")))
    at += -at % 32
    state = {}
    for n, shape, t, off in info:
        k = int(np.prod(shape))
        raw = d[at + off:at + off + (k // 32 * 34 if t == TYPE_Q8_0 else 4 * k)]
        x = un_q8_0(raw, shape) if t == TYPE_Q8_0 else np.frombuffer(raw, "<f4").reshape(shape).copy()
        state[n[:-len(".weight")]] = torch.from_numpy(x)
    m = Model()
    m.load_state_dict(state)
    return m.eval()


if __name__ == "__main__":
    tok = Tokenizer(sys.argv[2])
    state = torch.load(sys.argv[1])
    print(write(state, tok, sys.argv[3]), "bytes")
    got = load(sys.argv[3]).state_dict()
    print("largest difference after Q8_0:", max(float((got[k] - v).abs().max()) for k, v in state.items()))
