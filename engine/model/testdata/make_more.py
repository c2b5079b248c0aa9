#!/usr/bin/env python3
"""Makes those folders of made/ that came last; see make_families.py, whose words on what is
computed and how it is run hold here too.

Made with Python 3.11 and numpy 1.24.2.
"""

import math
from statistics import NormalDist

import numpy as np

from family_parts import DIM, E, EPS, F32, FF, H, HEADS, KV, PROMPT, USED, Made, adjacent, attention, choose, experts, mlp
from make_decoders import F, MOE, ROPE, ROUTED, SILU, each, finish, layer_keys, layer_norm, plain, turn
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



def gemma():
    m = Made("gemma", "gemma", 71, 2, {"model_type": "gemma", "head_dim": DIM, "hidden_act": "gelu", "hidden_activation": None, "rope_theta": 5000.0, "attention_bias": False},
             {**ROPE, "attention.key_length": DIM, "attention.value_length": DIM}, tied=True)
    x = m.embed[m.ids] * math.sqrt(H)
    for _, hf, g in each(m):
        x = x + attention(m, hf + "self_attn.", g, m.norm(hf + "input_layernorm", g + "attn_norm", less=1.0)(x), turn)
        h, s = m.norm(hf + "post_attention_layernorm", g + "ffn_norm", less=1.0)(x), hf + "mlp."
        gate, up = m.linear(s + "gate_proj", g + "ffn_gate", FF, H)(h), m.linear(s + "up_proj", g + "ffn_up", FF, H)(h)
        x = x + m.linear(s + "down_proj", g + "ffn_down", H, FF)(gelu_tanh(gate) * up)
    m.done(x, less=1.0)


def slopes(n, most=8.0):
    """Press et al., 2022: of a power of two heads; of others those of the next two powers."""
    def of(n):
        return [2 ** (-most * (h + 1) / n) for h in range(n)]
    p = 2 ** math.floor(math.log2(n))
    return of(p) + of(2 * p)[::2][:n - p]


def sloping(q, k, v, scale, most=8.0):
    """Attention whose scores fall with the distance."""
    n = len(q)
    i, j = np.arange(n)[:, None], np.arange(n)[None, :]
    out = []
    for h, s in enumerate(slopes(q.shape[1], most)):
        score = np.where(j <= i, q[:, h] @ k[:, h].T * scale - s * (i - j), -np.inf)
        out.append(softmax(score) @ v[:, h])
    return np.concatenate(out, axis=1)


def renamed(m, name):
    """The embedding, which Made calls otherwise."""
    m.hf[name] = m.hf.pop(m.before + "embed_tokens.weight")


def bloom():
    n, d = 4, H // 4
    m = Made("bloom", "bloom", 72, 2, {}, {"attention.head_count": n, "attention.head_count_kv": n, "feed_forward_length": 4 * H}, before="transformer.", tied=True)
    m.config = {"model_type": "bloom", "n_embed": H, "n_layer": 2, "num_attention_heads": n, "vocab_size": len(m.embed), "seq_length": 512, "layer_norm_epsilon": EPS,
                "apply_residual_connection_post_layernorm": False, "torch_dtype": "float16"}
    del m.keys["attention.layer_norm_rms_epsilon"]
    m.keys["attention.layer_norm_epsilon"] = EPS
    renamed(m, "transformer.word_embeddings.weight")
    x = layer_norm(m, "transformer.word_embeddings_layernorm", "token_embd_norm")(m.embed[m.ids])
    grouped = lambda t: t.reshape(n, 3, d, -1).swapaxes(0, 1).reshape(t.shape)
    for i in range(2):
        hf, g = f"transformer.h.{i}.", f"blk.{i}."
        w = grouped(m.w(hf + "self_attention.query_key_value.weight", g + "attn_qkv.weight", 3 * H, H, turn=grouped))
        b = grouped(m.w(hf + "self_attention.query_key_value.bias", g + "attn_qkv.bias", 3 * H, turn=grouped))
        qkv = layer_norm(m, hf + "input_layernorm", g + "attn_norm")(x) @ w.T + b
        q, k, v = (heads(t, n) for t in np.split(qkv, 3, axis=1))
        x = x + m.linear(hf + "self_attention.dense", g + "attn_output", H, H, True)(sloping(q, k, v, d**-0.5))
        h = layer_norm(m, hf + "post_attention_layernorm", g + "ffn_norm")(x)
        h = m.linear(hf + "mlp.dense_h_to_4h", g + "ffn_up", 4 * H, H, True)(h)
        x = x + m.linear(hf + "mlp.dense_4h_to_h", g + "ffn_down", H, 4 * H, True)(gelu_tanh(h))
    finish(m, layer_norm(m, "transformer.ln_f", "output_norm")(x))


def mpt():
    n, d, clip, eps = 6, 16, 2.0, 1e-5
    m = Made("mpt", "mpt", 73, 2, {}, {"attention.head_count": n, "attention.head_count_kv": n, "feed_forward_length": 2 * n * d, "embedding_length": n * d, "attention.clamp_kqv": clip, "attention.max_alibi_bias": 4.0},
             before="transformer.", tied=True)
    w = n * d
    m.config = {"model_type": "mpt", "d_model": w, "n_layers": 2, "n_heads": n, "vocab_size": len(m.embed), "max_seq_len": 512, "expansion_ratio": 2, "no_bias": True, "norm_type": "low_precision_layernorm",
                "attn_config": {"alibi": True, "alibi_bias_max": 4, "attn_impl": "torch", "attn_pdrop": 0, "attn_type": "multihead_attention", "clip_qkv": clip, "prefix_lm": False, "qk_ln": False, "softmax_scale": None},
                "logit_scale": None, "torch_dtype": "float16"}
    del m.keys["attention.layer_norm_rms_epsilon"]
    m.keys["attention.layer_norm_epsilon"] = eps
    del m.hf["transformer.embed_tokens.weight"], m.gguf["token_embd.weight"]
    m.embed = m.w("transformer.wte.weight", "token_embd.weight", len(m.embed), w, scale=1.0)
    norm = lambda hf, gguf: (lambda weight: lambda x: layer(x, weight, 0.0, eps))(m.w(hf + ".weight", gguf + ".weight", w, mean=1.0))
    x = m.embed[m.ids]
    for i in range(2):
        hf, g = f"transformer.blocks.{i}.", f"blk.{i}."
        qkv = np.clip(m.linear(hf + "attn.Wqkv", g + "attn_qkv", 3 * w, w)(norm(hf + "norm_1", g + "attn_norm")(x)), -clip, clip)
        q, k, v = (heads(t, n) for t in np.split(qkv, 3, axis=1))
        x = x + m.linear(hf + "attn.out_proj", g + "attn_output", w, w)(sloping(q, k, v, d**-0.5, 4.0))
        h = m.linear(hf + "ffn.up_proj", g + "ffn_up", 2 * w, w)(norm(hf + "norm_2", g + "ffn_norm")(x))
        x = x + m.linear(hf + "ffn.down_proj", g + "ffn_down", w, 2 * w)(gelu(h))
    finish(m, norm("transformer.norm_f", "output_norm")(x))


def opt():
    """Rows of positions begin at the third. llama.cpp has no such architecture."""
    n, d, eps = HEADS, H // HEADS, 1e-5
    m = Made("opt", "opt", 74, 2, {}, {"attention.head_count_kv": n}, before="model.decoder.", tied=True)
    m.config = {"model_type": "opt", "hidden_size": H, "ffn_dim": FF, "num_hidden_layers": 2, "num_attention_heads": n, "vocab_size": len(m.embed), "max_position_embeddings": 512, "word_embed_proj_dim": H,
                "do_layer_norm_before": True, "activation_function": "relu", "_remove_final_layer_norm": False, "torch_dtype": "float16"}
    del m.keys["attention.layer_norm_rms_epsilon"]
    m.keys["attention.layer_norm_epsilon"] = eps
    def norm(hf, gguf):
        w, b = m.w(hf + ".weight", gguf + ".weight", H, mean=1.0), m.w(hf + ".bias", gguf + ".bias", H)
        return lambda x: layer(x, w, b, eps)
    places = m.w("model.decoder.embed_positions.weight", "position_embd.weight", 514, H, scale=0.5, turn=lambda x: x[2:])
    x = m.embed[m.ids] + places[2:2 + len(m.ids)]
    for i in range(2):
        hf, g = f"model.decoder.layers.{i}.", f"blk.{i}."
        h, s = norm(hf + "self_attn_layer_norm", g + "attn_norm")(x), hf + "self_attn."
        q, k, v = (heads(m.linear(f"{s}{t}_proj", f"{g}attn_{t}", H, H, True)(h), n) for t in "qkv")
        x = x + m.linear(s + "out_proj", g + "attn_output", H, H, True)(attend(q, k, v, d**-0.5))
        h = m.linear(hf + "fc1", g + "ffn_up", FF, H, True)(norm(hf + "final_layer_norm", g + "ffn_norm")(x))
        x = x + m.linear(hf + "fc2", g + "ffn_down", H, FF, True)(np.maximum(h, 0))
    finish(m, norm("model.decoder.final_layer_norm", "output_norm")(x))


def gptj():
    n, d, dim = HEADS, H // HEADS, 8
    m = Made("gptj", "gptj", 75, 2, {}, {"attention.head_count_kv": n, "rope.dimension_count": dim, "feed_forward_length": 4 * H}, before="transformer.")
    m.config = {"model_type": "gptj", "n_embd": H, "n_layer": 2, "n_head": n, "n_positions": 512, "n_inner": None, "rotary_dim": dim, "vocab_size": len(m.embed), "layer_norm_epsilon": EPS,
                "activation_function": "gelu_new", "scale_attn_weights": True, "tie_word_embeddings": False, "torch_dtype": "float16"}
    del m.keys["attention.layer_norm_rms_epsilon"]
    m.keys.update({"attention.layer_norm_epsilon": EPS, "rope.freq_base": 10000.0})
    renamed(m, "transformer.wte.weight")
    x, f = m.embed[m.ids], freqs(10000.0, dim)
    for i in range(2):
        hf, g = f"transformer.h.{i}.", f"blk.{i}."
        m.w(hf + "attn.bias", None, 1, 1, 4, 4)  # a mask
        m.hf[hf + "attn.masked_bias"] = np.array(-1e4)
        h = layer_norm(m, hf + "ln_1", g + "attn_norm")(x)
        q, k, v = (heads(m.linear(f"{hf}attn.{t}_proj", f"{g}attn_{t}", H, H)(h), n) for t in "qkv")
        a = m.linear(hf + "attn.out_proj", g + "attn_output", H, H)(attend(rope(q, f, True), rope(k, f, True), v, d**-0.5))
        u = m.linear(hf + "mlp.fc_in", g + "ffn_up", 4 * H, H, True)(h)
        x = x + a + m.linear(hf + "mlp.fc_out", g + "ffn_down", H, 4 * H, True)(gelu_tanh(u))
    x = layer_norm(m, "transformer.ln_f", "output_norm")(x)
    head = m.linear("lm_head", "output", len(m.embed), H, True)
    m.linear = lambda *_, **__: head
    finish(m, x)


def qwen():
    n, d = HEADS, H // HEADS
    m = Made("qwen", "qwen", 76, 2, {}, {"attention.head_count_kv": n, "rope.freq_base": 5000.0, "rope.dimension_count": d, "feed_forward_length": 2 * FF}, before="transformer.")
    m.config = {"model_type": "qwen", "hidden_size": H, "num_hidden_layers": 2, "num_attention_heads": n, "intermediate_size": 2 * FF, "vocab_size": len(m.embed), "seq_length": 512, "max_position_embeddings": 8192,
                "kv_channels": d, "rotary_emb_base": 5000, "rotary_pct": 1.0, "layer_norm_epsilon": EPS, "no_bias": True, "scale_attn_weights": True, "use_dynamic_ntk": True, "use_logn_attn": True, "tie_word_embeddings": False}
    renamed(m, "transformer.wte.weight")
    x, f = m.embed[m.ids], freqs(5000.0, d)
    for i in range(2):
        hf, g = f"transformer.h.{i}.", f"blk.{i}."
        qkv = m.linear(hf + "attn.c_attn", g + "attn_qkv", 3 * H, H, True)(m.norm(hf + "ln_1", g + "attn_norm")(x))
        q, k, v = (heads(t, n) for t in np.split(qkv, 3, axis=1))
        x = x + m.linear(hf + "attn.c_proj", g + "attn_output", H, H)(attend(rope(q, f), rope(k, f), v, d**-0.5))
        x = x + mlp(m, hf + "mlp.", g, m.norm(hf + "ln_2", g + "ffn_norm")(x), names=("w2", "w1", "c_proj"))
    finish(m, m.norm("transformer.ln_f", "output_norm")(x))


def deepseek():
    ff, shared = 16, 2
    m = Made("deepseek", "deepseek", 77, 2, {
        "model_type": "deepseek", **SILU, "num_key_value_heads": HEADS, "rope_theta": 5000.0, "moe_intermediate_size": ff, "n_routed_experts": E, "n_shared_experts": shared, "num_experts_per_tok": USED,
        "first_k_dense_replace": 1, "moe_layer_freq": 1, "norm_topk_prob": False, "scoring_func": "softmax", "aux_loss_alpha": 0.001, "attention_bias": False,
    }, {**ROPE, **ROUTED, "attention.head_count_kv": HEADS, "expert_feed_forward_length": ff, "expert_shared_count": shared, "leading_dense_block_count": 1, "expert_weights_scale": 1.0})
    x = m.embed[m.ids]
    for i, hf, g in each(m):
        x = x + attention(m, hf + "self_attn.", g, m.norm(hf + "input_layernorm", g + "attn_norm")(x), turn, kv=HEADS, rows=adjacent)
        h, hf = m.norm(hf + "post_attention_layernorm", g + "ffn_norm")(x), hf + "mlp."
        if i == 0:
            x = x + mlp(m, hf, g, h)
            continue
        p = softmax(m.linear(hf + "gate", g + "ffn_gate_inp", E, H)(h))
        x = x + experts(m, hf, g, h, choose(p), ff) + mlp(m, hf + "shared_experts.", g, h, shared * ff, kind="_shexp")
    m.done(x)


def command_r_plus():
    """llama.cpp knows it by 64 layers."""
    m = Made("command-r-plus", "command-r", 78, 64 if F32 else 2, {
        "model_type": "cohere", **SILU, "num_key_value_heads": KV, "rope_theta": 5000.0, "logit_scale": 0.5, "use_qk_norm": True, "attention_bias": False,
    }, {"rope.freq_base": 5000.0, "logit_scale": 0.5}, tied=True)
    layer_keys(m)
    norm = lambda hf, gguf, *shape: (lambda w: lambda x: layer(x, w, 0.0, EPS))(m.w(hf + ".weight", gguf + ".weight", *shape, mean=1.0, scale=0.3))
    x = m.embed[m.ids]
    for _, hf, g in each(m):
        h, s = norm(hf + "input_layernorm", g + "attn_norm", H)(x), hf + "self_attn."
        q, k, v = (heads(m.linear(f"{s}{t}_proj", f"{g}attn_{t}", c * DIM, H)(h), c) for t, c in (("q", HEADS), ("k", KV), ("v", KV)))
        q, k = norm(s + "q_norm", g + "attn_q_norm", HEADS, DIM)(q), norm(s + "k_norm", g + "attn_k_norm", KV, DIM)(k)
        a = m.linear(s + "o_proj", g + "attn_output", H, HEADS * DIM)(attend(rope(q, F, True), rope(k, F, True), v, DIM**-0.5))
        x = x + a + mlp(m, hf + "mlp.", g, h)
    finish(m, norm("model.norm", "output_norm", H)(x), divide=2.0)


def afmoe():
    ff, window, layers = 16, 8, 4
    m = Made("afmoe", "afmoe", 79, layers, {
        "model_type": "afmoe", **SILU, **MOE, "head_dim": DIM, "rope_theta": 5000.0, "moe_intermediate_size": ff, "num_shared_experts": 1, "num_dense_layers": 1, "route_norm": True, "route_scale": 2.5,
        "score_func": "sigmoid", "mup_enabled": True, "sliding_window": window, "global_attn_every_n_layers": 4, "layer_types": ["sliding_attention"] * 3 + ["full_attention"], "num_expert_groups": 1, "num_limited_groups": 1,
    }, {**ROPE, **ROUTED, "attention.key_length": DIM, "attention.value_length": DIM, "expert_feed_forward_length": ff, "expert_shared_count": 1, "leading_dense_block_count": 1, "expert_weights_norm": True,
        "expert_weights_scale": 2.5, "expert_gating_func": 2, "attention.sliding_window": window})
    x = m.embed[m.ids] * math.sqrt(H)
    for i, hf, g in each(m):
        local = i % 4 != 3
        h, s = m.norm(hf + "input_layernorm", g + "attn_norm")(x), hf + "self_attn."
        q, k, v = (heads(m.linear(f"{s}{t}_proj", f"{g}attn_{t}", c * DIM, H)(h), c) for t, c in (("q", HEADS), ("k", KV), ("v", KV)))
        q, k = m.norm(s + "q_norm", g + "attn_q_norm", DIM)(q), m.norm(s + "k_norm", g + "attn_k_norm", DIM)(k)
        if local:
            q, k = turn(q), turn(k)
        a = attend(q, k, v, DIM**-0.5, window=window if local else 0) * sigmoid(m.linear(s + "gate_proj", g + "attn_gate", HEADS * DIM, H)(h))
        x = x + m.norm(hf + "post_attention_layernorm", g + "post_attention_norm")(m.linear(s + "o_proj", g + "attn_output", H, HEADS * DIM)(a))
        h, s = m.norm(hf + "pre_mlp_layernorm", g + "ffn_norm")(x), hf + "mlp."
        if i == 0:
            y = mlp(m, s, g, h)
        else:
            p = sigmoid(m.linear(s + "router.gate", g + "ffn_gate_inp", E, H)(h))
            bias = m.w(s + "expert_bias", g + "exp_probs_b.bias", E, scale=0.2)
            y = experts(m, s, g, h, choose(p, bias, True, 2.5), ff) + mlp(m, s + "shared_experts.", g, h, ff, kind="_shexp")
        x = x + m.norm(hf + "post_mlp_layernorm", g + "post_ffw_norm")(y)
    m.done(x)


def exaone_moe():
    ff, window, layers = 16, 8, 4
    slides = [True, True, True, False]
    m = Made("exaone-moe", "exaone-moe", 80, layers, {
        "model_type": "exaone_moe", **SILU, **MOE, "head_dim": DIM, "rope_theta": 5000.0, "moe_intermediate_size": ff, "num_shared_experts": 1, "first_k_dense_replace": 1, "norm_topk_prob": True, "routed_scaling_factor": 2.5,
        "scoring_func": "sigmoid", "n_group": 1, "topk_group": 1, "sliding_window": window, "sliding_window_pattern": "LLLG",
    }, {**ROPE, **ROUTED, "attention.key_length": DIM, "attention.value_length": DIM, "expert_feed_forward_length": ff, "expert_shared_count": 1, "expert_shared_feed_forward_length": ff, "leading_dense_block_count": 1,
        "expert_weights_norm": True, "expert_weights_scale": 2.5, "expert_gating_func": 2, "attention.sliding_window": window, "attention.sliding_window_pattern": slides})
    m.skipped("mtp.fc.weight", "mtp.layers.0.input_layernorm.weight")
    x = m.embed[m.ids]
    for i, hf, g in each(m):
        x = x + attention(m, hf + "self_attn.", g, m.norm(hf + "input_layernorm", g + "attn_norm")(x), turn if slides[i] else lambda t: t, norms=("q_norm", "k_norm"), window=window if slides[i] else 0)
        h, s = m.norm(hf + "post_attention_layernorm", g + "ffn_norm")(x), hf + "mlp."
        if i == 0:
            x = x + mlp(m, s, g, h)
            continue
        p = sigmoid(m.linear(s + "gate", g + "ffn_gate_inp", E, H)(h))
        bias = m.w(s + "e_score_correction_bias", g + "exp_probs_b.bias", E, scale=0.2)
        x = x + experts(m, s, g, h, choose(p, bias, True, 2.5), ff) + mlp(m, s + "shared_experts.", g, h, ff, kind="_shexp")
    m.done(x)


if __name__ == "__main__":
    gemma3n()
    gemma()
    bloom()
    mpt()
    opt()
    gptj()
    qwen()
    deepseek()
    command_r_plus()
    afmoe()
    exaone_moe()
