#!/usr/bin/env python3
"""Makes those folders of made/ that came last; see make_families.py, whose words on what is
computed and how it is run hold here too.

Made with Python 3.11 and numpy 1.24.2.
"""

import math
from statistics import NormalDist

import numpy as np

from family_parts import DIM, E, EPS, F32, FF, H, HEADS, KV, PROMPT, USED, Made, adjacent, attention, choose, experts, mlp
from make_decoders import MOE, ROPE, ROUTED, SILU, each, finish, layer_keys, layer_norm, plain, turn
from make_golden import attend, freqs, gelu, gelu_tanh, heads, layer, rms, rope, sigmoid, silu, softmax, swiglu


def gemma3n():
    """llama.cpp has one width of the layers' own tables, one rank of LAuReL and one share of
    gates, and knows by number which layers have keys."""
    layers, width, rank, streams, window, cap, clip = (25, 256, 64, 4, 8, 30.0, 120.0) if F32 else (4, 8, 6, 4, 8, 5.0, 0.25)
    slides = [(i + 1) % (5 if F32 else 2) != 0 for i in range(layers)]
    shared = 5 if F32 else 2
    share = [0.95] * 10 + [0.0] * 15 if F32 else [0.8, 0.0, 0.5, 0.0]
    scale = [float(np.float32(NormalDist().inv_cdf(s))) if s else -math.inf for s in share]
    wide, before = [FF] * layers, "model.language_model."
    if not F32:
        wide[1] = 2 * FF
    m = Made("gemma3n", "gemma3n", 70, layers, {
        "model_type": "gemma3n_text", "intermediate_size": wide, "head_dim": DIM, "hidden_activation": "gelu_pytorch_tanh", "rope_theta": 5000.0, "rope_local_base_freq": 1000.0, "rope_scaling": None,
        "sliding_window": window, "layer_types": ["sliding_attention" if s else "full_attention" for s in slides], "final_logit_softcapping": cap, "vocab_size_per_layer_input": 48,
        "hidden_size_per_layer_input": width, "num_kv_shared_layers": shared, "altup_active_idx": 0, "altup_coef_clip": clip, "altup_correct_scale": True, "altup_num_inputs": streams,
        "laurel_rank": rank, "activation_sparsity_pattern": share, "attention_bias": False,
    }, {
        "feed_forward_length": wide, "attention.key_length": DIM, "attention.value_length": DIM, "rope.freq_base": 5000.0, "rope.freq_base_swa": 1000.0, "attention.sliding_window": window,
        "attention.sliding_window_pattern": slides, "attention.shared_kv_layers": shared, "embedding_length_per_layer_input": width, "final_logit_softcapping": cap,
        "altup.active_idx": 0, "altup.num_inputs": streams, "activation_sparsity_scale": scale,
    }, before=before, tied=True)
    m.skipped("model.vision_tower.timm_model.conv_stem.conv.weight", "model.audio_tower.conformer.0.norm.weight", "model.embed_vision.embedding.weight", "model.embed_audio.embedding_projection.weight")
    if F32:  # keys that llama.cpp has for other widths
        m.keys["feed_forward_length"] = FF
    x = m.embed[m.ids] * math.sqrt(H)
    table = m.w(before + "embed_tokens_per_layer.weight", "per_layer_token_embd.weight", 48, layers * width, scale=0.5)[m.ids] * math.sqrt(width)
    own = m.linear(before + "per_layer_model_projection", "per_layer_model_proj", layers * width, H)(x) / math.sqrt(H)
    inputs = (m.norm(before + "per_layer_projection_norm", "per_layer_proj_norm", width)(heads(own, layers)) + heads(table, layers)) / math.sqrt(2)

    def stack(name, to):
        each = [m.w(f"{before}{name}.{k}.weight", None, H, H) for k in range(streams - 1)]
        m.gguf[to + ".weight"] = np.stack(each)
        return each

    size = lambda y: np.sqrt(np.mean(y * y, axis=1, keepdims=True))
    like = lambda y, target: y * size(target) / np.sqrt(np.maximum(np.mean(y * y, axis=1, keepdims=True), 1e-5))
    spread, gather = stack("altup_projections", "altup_proj"), stack("altup_unembed_projections", "altup_unembd_proj")
    xs = [x] + [like(x @ w.T, x) for w in spread]
    cached = {}
    for i in range(layers):
        hf, g = f"{before}layers.{i}.", f"blk.{i}."
        router, router_norm = m.linear(hf + "altup.modality_router", g + "altup_router", streams, H, scale=2.0), m.norm(hf + "altup.router_norm", g + "altup_router_norm")
        modal = lambda y: np.tanh(router(router_norm(y) / H))
        c = m.linear(hf + "altup.prediction_coefs", g + "altup_predict_coef", streams * streams, streams, scale=2.0)(modal(xs[0])).reshape(-1, streams, streams)
        xs = [xs[k] + sum(c[:, k, j:j + 1] * xs[j] for j in range(streams)) for k in range(streams)]
        h = m.norm(hf + "input_layernorm", g + "attn_norm")(xs[0])
        low = m.linear(hf + "laurel.linear_right", g + "laurel_r", H, rank)(m.linear(hf + "laurel.linear_left", g + "laurel_l", rank, H)(h))
        laurel = h + m.norm(hf + "laurel.post_laurel_norm", g + "laurel_post_norm")(low)
        s = hf + "self_attn."
        q, k, v = (heads(m.linear(f"{s}{n}_proj", f"{g}attn_{n}", count * DIM, H)(h), count) for n, count in (("q", HEADS), ("k", KV), ("v", KV)))
        f = freqs(1000.0 if slides[i] else 5000.0)
        q, k = (rope(m.norm(f"{s}{n}_norm", f"{g}attn_{n}_norm", DIM)(y), f) for n, y in (("q", q), ("k", k)))
        if i < layers - shared:
            cached[slides[i]] = k, rms(v, np.ones(DIM), EPS)
        a = attend(q, *cached[slides[i]], 1.0, window=window if slides[i] else 0)
        a = m.norm(hf + "post_attention_layernorm", g + "post_attention_norm")(m.linear(s + "o_proj", g + "attn_output", H, HEADS * DIM)(a))
        y = (xs[0] + a + laurel) / math.sqrt(2)
        h, n = m.norm(hf + "pre_feedforward_layernorm", g + "ffn_norm")(y), wide[i]
        gate, up = (m.linear(f"{hf}mlp.{k}_proj", f"{g}ffn_{k}", n, H)(h) for k in ("gate", "up"))
        if share[i]:
            gate = np.maximum(0, gate - gate.mean(axis=1, keepdims=True) - scale[i] * gate.std(axis=1, keepdims=True))
        h = m.linear(hf + "mlp.down_proj", g + "ffn_down", H, n)(gelu_tanh(gate) * up)
        y = y + m.norm(hf + "post_feedforward_layernorm", g + "post_ffw_norm")(h)
        w = m.w(hf + "altup.correction_coefs.weight", None, streams, streams, scale=2.0 if F32 else 0.5)
        w = m.gguf[g + "altup_correct_coef.weight"] = np.clip(w, -clip, clip)
        c = modal(y) @ w.T + 1
        xs = [xs[k] + c[:, k:k + 1] * (y - xs[0]) for k in range(streams)]
        p = xs[0] * m.w(hf + "altup.correct_output_scale", g + "altup_correct_scale.weight", H, mean=1.0)
        p = gelu_tanh(m.linear(hf + "per_layer_input_gate", g + "inp_gate", width, H)(p)) * inputs[:, i]
        p = m.norm(hf + "post_per_layer_input_norm", g + "post_norm")(m.linear(hf + "per_layer_projection", g + "proj", H, width)(p))
        xs = xs[:1] + [y + p for y in xs[1:]]
    xs = xs[:1] + [like(y @ w.T, xs[0]) for y, w in zip(xs[1:], gather)]
    m.done(sum(xs) / streams, cap=cap, wrap="gemma3n")


if __name__ == "__main__":
    gemma3n()
