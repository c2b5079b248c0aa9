#!/usr/bin/env python3
"""Makes those folders of made/ that are Llama with a difference or two; see make_families.py,
whose words on what is computed and how it is run hold here too.

Made with Python 3.11 and numpy 1.24.2.
"""

import math

import numpy as np

from family_parts import DIM, E, EPS, FF, H, HEADS, KV, PROMPT, USED, Made, adjacent, attention, choose, experts, mlp
from make_golden import attend, freqs, gelu, gelu_tanh, heads, layer, rms, rope, sigmoid, silu, softmax, swiglu

SILU = {"hidden_act": "silu"}
ROPE = {"rope.freq_base": 5000.0, "rope.dimension_count": DIM}
MOE = {"num_experts": E, "num_experts_per_tok": USED}
ROUTED = {"expert_count": E, "expert_used_count": USED}
F = freqs(5000.0)


def turn(t):
    return rope(t, F)


def layer_norm(m, hf, gguf, less=0.0, bias=True):
    w = m.w(hf + ".weight", gguf + ".weight", H, mean=1.0 - less, turn=lambda x: x + less) + less
    b = m.w(hf + ".bias", gguf + ".bias", H) if bias else 0.0
    return lambda x: layer(x, w, b, EPS)


def layer_keys(m, key="layer_norm_eps"):
    """LayerNorm in place of RMSNorm."""
    del m.keys["attention.layer_norm_rms_epsilon"], m.config["rms_norm_eps"]
    m.keys["attention.layer_norm_epsilon"], m.config[key] = EPS, EPS


def plain(m, hf, gguf, x, act, bias=False, names=("up_proj", "down_proj"), turned=None):
    up = m.linear(hf + names[0], gguf + "ffn_up", FF, H, bias)(x)
    return m.linear(hf + names[1], gguf + "ffn_down", H, FF, bias)(act(up))


def relu2(x):
    return np.maximum(x, 0) ** 2


def each(m, *names):
    for i in range(m.layers):
        yield i, f"model.layers.{i}.", f"blk.{i}."


def arcee():
    m = Made("arcee", "arcee", 40, 2, {"model_type": "arcee", "hidden_act": "relu2", "rope_theta": 5000.0, "attention_bias": False, "mlp_bias": False}, ROPE)
    x = m.embed[m.ids]
    for _, hf, g in each(m):
        x = x + attention(m, hf + "self_attn.", g, m.norm(hf + "input_layernorm", g + "attn_norm")(x), turn, rows=adjacent)
        x = x + plain(m, hf + "mlp.", g, m.norm(hf + "post_attention_layernorm", g + "ffn_norm")(x), relu2)
    m.done(x)


def smollm3():
    m = Made("smollm3", "smollm3", 41, 4, {"model_type": "smollm3", **SILU, "rope_theta": 5000.0, "no_rope_layers": [1, 1, 1, 0]}, ROPE, tied=True)
    x = m.embed[m.ids]
    for i, hf, g in each(m):
        x = x + attention(m, hf + "self_attn.", g, m.norm(hf + "input_layernorm", g + "attn_norm")(x), turn if i < 3 else lambda t: t, rows=adjacent)
        x = x + mlp(m, hf + "mlp.", g, m.norm(hf + "post_attention_layernorm", g + "ffn_norm")(x))
    m.done(x)


def minicpm():
    layers, emb, depth, base = 2, 12, 1.4, 8
    scale = depth / math.sqrt(layers)
    m = Made("minicpm", "minicpm", 42, layers, {"model_type": "minicpm", **SILU, "rope_theta": 5000.0, "scale_emb": emb, "scale_depth": depth, "dim_model_base": base}, {
        **ROPE, "embedding_scale": float(emb), "residual_scale": scale, "logit_scale": H / base}, tied=True)
    x = emb * m.embed[m.ids]
    for _, hf, g in each(m):
        x = x + scale * attention(m, hf + "self_attn.", g, m.norm(hf + "input_layernorm", g + "attn_norm")(x), turn, rows=adjacent)
        x = x + scale * mlp(m, hf + "mlp.", g, m.norm(hf + "post_attention_layernorm", g + "ffn_norm")(x))
    m.done(x, divide=H / base)


def minicpm3():
    """Keys and values of all heads are made of one short vector; the factors are no keys of GGUF's."""
    layers, nope, r, rank, queries, value = 2, 16, 8, 32, 32, H // HEADS
    scale = 1.4 / math.sqrt(layers)
    factors = [1.0, 1.0, 1.5, 2.0]
    m = Made("minicpm3", "minicpm3", 59, layers, {
        "model_type": "minicpm3", **SILU, "num_key_value_heads": HEADS, "rope_theta": 5000.0, "scale_emb": 12, "scale_depth": 1.4, "dim_model_base": 256, "q_lora_rank": queries,
        "kv_lora_rank": rank, "qk_nope_head_dim": nope, "qk_rope_head_dim": r, "v_head_dim": value,
        "rope_scaling": {"type": "longrope", "long_factor": [9.0] * 4, "short_factor": factors, "original_max_position_embeddings": 512},
    }, {"attention.head_count_kv": HEADS, "attention.q_lora_rank": queries, "attention.kv_lora_rank": rank, "attention.key_length": nope + r, "rope.dimension_count": r,
        "rope.freq_base": 5000.0, "rope.scaling.original_context_length": 512}, eps=1e-6)
    m.gguf["rope_factors_long.weight"], m.gguf["rope_factors_short.weight"] = np.full(4, 9.0), np.array(factors)
    x, f = 12 * m.embed[m.ids], freqs(5000.0, r) / np.array(factors)
    for _, hf, g in each(m):
        h, s = m.norm(hf + "input_layernorm", g + "attn_norm")(x), hf + "self_attn."
        q = m.norm(s + "q_a_layernorm", g + "attn_q_a_norm", queries)(m.linear(s + "q_a_proj", g + "attn_q_a", queries, H)(h))
        q = heads(m.linear(s + "q_b_proj", g + "attn_q_b", HEADS * (nope + r), queries)(q), HEADS)
        c = m.linear(s + "kv_a_proj_with_mqa", g + "attn_kv_a_mqa", rank + r, H)(h)
        kv = heads(m.linear(s + "kv_b_proj", g + "attn_kv_b", HEADS * (nope + value), rank)(m.norm(s + "kv_a_layernorm", g + "attn_kv_a_norm", rank)(c[:, :rank])), HEADS)
        k = np.repeat(rope(c[:, None, rank:], f), HEADS, axis=1)
        q, k = np.concatenate([q[..., :nope], rope(q[..., nope:], f)], axis=2), np.concatenate([kv[..., :nope], k], axis=2)
        a = attend(q, k, kv[..., nope:], (nope + r) ** -0.5)
        x = x + scale * m.linear(s + "o_proj", g + "attn_output", H, HEADS * value)(a)
        x = x + scale * mlp(m, hf + "mlp.", g, m.norm(hf + "post_attention_layernorm", g + "ffn_norm")(x))
    m.done(x, divide=H / 256)


def internlm2():
    """Rows of wqkv come by key head: its query heads, itself, its value head."""
    n, kv = 4, 2
    m = Made("internlm2", "internlm2", 43, 2, {"model_type": "internlm2", **SILU, "hidden_size": H, "num_attention_heads": n, "num_key_value_heads": kv, "bias": False, "rope_theta": 5000.0,
                                              "rope_scaling": {"type": "dynamic", "factor": 2.0}},
             {"attention.head_count": n, "attention.head_count_kv": kv, "rope.freq_base": 5000.0, "rope.dimension_count": H // n}, tied=True)
    m.hf["model.tok_embeddings.weight"] = m.hf.pop("model.embed_tokens.weight")
    m.tied, m.config["tie_word_embeddings"] = False, False
    d, x = H // n, m.embed[m.ids]
    f = freqs(5000.0, d)
    for i, hf, g in each(m):
        h = m.norm(hf + "attention_norm", g + "attn_norm")(x)
        w = m.w(hf + "attention.wqkv.weight", None, (n + 2 * kv) * d, H).reshape(kv, n // kv + 2, d, H)
        q, k, v = w[:, :-2].reshape(n * d, H), w[:, -2].reshape(kv * d, H), w[:, -1].reshape(kv * d, H)
        m.gguf[g + "attn_q.weight"], m.gguf[g + "attn_k.weight"], m.gguf[g + "attn_v.weight"] = adjacent(q, d), adjacent(k, d), v
        a = attend(rope(heads(h @ q.T, n), f), rope(heads(h @ k.T, kv), f), heads(h @ v.T, kv), d**-0.5)
        x = x + m.linear(hf + "attention.wo", g + "attn_output", H, n * d)(a)
        x = x + mlp(m, hf + "feed_forward.", g, m.norm(hf + "ffn_norm", g + "ffn_norm")(x), names=("w1", "w3", "w2"))
    m.done(x, head="output")


def exaone():
    m = Made("exaone", "exaone", 44, 2, {"model_type": "exaone", "activation_function": "silu", "num_layers": 2, "layer_norm_epsilon": EPS, "rope_theta": 5000.0}, ROPE)
    del m.config["num_hidden_layers"], m.config["rms_norm_eps"]
    m.hf["transformer.wte.weight"] = m.hf.pop("model.embed_tokens.weight")
    m.before = "transformer."
    x = m.embed[m.ids]
    for i in range(2):
        hf, g = f"transformer.h.{i}.", f"blk.{i}."
        x = x + attention(m, hf + "attn.attention.", g, m.norm(hf + "ln_1", g + "attn_norm")(x), turn, out="out_proj")
        x = x + mlp(m, hf + "mlp.", g, m.norm(hf + "ln_2", g + "ffn_norm")(x), names=("c_fc_0", "c_fc_1", "c_proj"))
    m.done(x, norm="ln_f")


def nemotron():
    m = Made("nemotron", "nemotron", 45, 2, {"model_type": "nemotron", "hidden_act": "relu2", "head_dim": DIM, "partial_rotary_factor": 0.5, "rope_theta": 5000.0},
             {"rope.freq_base": 5000.0, "rope.dimension_count": DIM // 2, "attention.key_length": DIM, "attention.value_length": DIM})
    layer_keys(m, "norm_eps")
    x, f = m.embed[m.ids], freqs(5000.0, DIM // 2)
    for _, hf, g in each(m):
        h = layer_norm(m, hf + "input_layernorm", g + "attn_norm", 1.0)(x)
        x = x + attention(m, hf + "self_attn.", g, h, lambda t: rope(t, f))
        x = x + plain(m, hf + "mlp.", g, layer_norm(m, hf + "post_attention_layernorm", g + "ffn_norm", 1.0)(x), relu2)
    finish(m, layer_norm(m, "model.norm", "output_norm", 1.0)(x))


def finish(m, x, head="lm_head", **more):
    """done for a last norm of another kind."""
    m.norm = lambda *_, **__: (lambda y: y)
    m.done(x, head=head, **more)


def stablelm(name, seed, parallel):
    """The 12B model has norms of its own for every head, and its blocks side by side."""
    kv = 2 if parallel else 1
    m = Made(name, "stablelm", seed, 2, {"model_type": "stablelm", **SILU, "num_key_value_heads": kv, "partial_rotary_factor": 0.25, "rope_theta": 5000.0,
                                         "use_qkv_bias": not parallel, "qk_layernorm": parallel, "use_parallel_residual": parallel},
             {"attention.head_count_kv": kv, "rope.freq_base": 5000.0, "rope.dimension_count": DIM // 4, "use_parallel_residual": parallel})
    layer_keys(m)
    x, f = m.embed[m.ids], freqs(5000.0, DIM // 4)
    for _, hf, g in each(m):
        h = layer_norm(m, hf + "input_layernorm", g + "attn_norm")(x)
        s = hf + "self_attn."
        part = {n: heads(m.linear(f"{s}{n}_proj", f"{g}attn_{n}", k * DIM, H, not parallel)(h), k) for n, k in (("q", HEADS), ("k", kv), ("v", kv))}
        for n in "qk" if parallel else "":
            count = part[n].shape[1]
            w = np.stack([m.w(f"{s}{n}_layernorm.norms.{j}.weight", None, DIM, mean=1.0) for j in range(count)])
            m.gguf[f"{g}attn_{n}_norm.weight"] = w
            part[n] = layer(part[n], w, 0.0, EPS)
        a = attend(rope(part["q"], f), rope(part["k"], f), part["v"], DIM**-0.5)
        a = m.linear(s + "o_proj", g + "attn_output", H, HEADS * DIM)(a)
        if parallel:
            x = x + a + mlp(m, hf + "mlp.", g, h)
        else:
            x = x + a
            x = x + mlp(m, hf + "mlp.", g, layer_norm(m, hf + "post_attention_layernorm", g + "ffn_norm")(x))
    finish(m, layer_norm(m, "model.norm", "output_norm")(x))


def olmo():
    """Norms without weights; queries, keys and values are clipped."""
    clip = 0.75
    m = Made("olmo", "olmo", 48, 2, {"model_type": "olmo", **SILU, "clip_qkv": clip, "rope_theta": 5000.0, "attention_bias": False},
             {**ROPE, "attention.layer_norm_epsilon": 1e-5, "attention.clamp_kqv": clip}, tied=True)
    del m.keys["attention.layer_norm_rms_epsilon"], m.config["rms_norm_eps"]
    norm = lambda t: layer(t, 1.0, 0.0, 1e-5)
    x = m.embed[m.ids]
    for _, hf, g in each(m):
        h, s = norm(x), hf + "self_attn."
        q, k, v = (np.clip(heads(m.linear(f"{s}{n}_proj", f"{g}attn_{n}", c * DIM, H, turn=None if n == "v" else adjacent)(h), c), -clip, clip)
                   for n, c in (("q", HEADS), ("k", KV), ("v", KV)))
        x = x + m.linear(s + "o_proj", g + "attn_output", H, HEADS * DIM)(attend(turn(q), turn(k), v, DIM**-0.5))
        x = x + mlp(m, hf + "mlp.", g, norm(x))
    finish(m, norm(x))


def apertus():
    """An activation with numbers of each layer, of which files have what softplus makes them of."""
    m = Made("apertus", "apertus", 49, 2, {"model_type": "apertus", "hidden_act": "xielu", "rope_theta": 5000.0, "rope_scaling": {"rope_type": "default"}, "qk_norm": True, "post_norm": False}, ROPE)
    x = m.embed[m.ids]
    values = {k: [] for k in ("alpha_p", "alpha_n", "beta", "eps")}
    soft = lambda v: math.log1p(math.exp(v))
    for i, hf, g in each(m):
        x = x + attention(m, hf + "self_attn.", g, m.norm(hf + "attention_layernorm", g + "attn_norm")(x), turn, norms=("q_norm", "k_norm"))
        p, n = (float(m.w(f"{hf}mlp.act_fn.alpha_{k}", None, 1)[0]) for k in "pn")
        beta, eps = 0.5, -float(np.float16(1e-3))
        m.hf[hf + "mlp.act_fn.beta"], m.hf[hf + "mlp.act_fn.eps"] = np.array(beta), np.array(eps)
        for k, v in zip(values, (p, n, beta, eps)):
            values[k].append(v)
        pos, neg = soft(p), beta + soft(n)
        xielu = lambda u: np.where(u > 0, pos * u * u + beta * u, (np.expm1(np.minimum(u, eps)) - u) * neg + beta * u)
        x = x + plain(m, hf + "mlp.", g, m.norm(hf + "feedforward_layernorm", g + "ffn_norm")(x), xielu)
    m.whole = {"xielu." + k: v for k, v in values.items()}
    m.done(x)


def olmoe():
    n, kv = HEADS, HEADS
    m = Made("olmoe", "olmoe", 50, 2, {"model_type": "olmoe", **SILU, **MOE, "num_key_value_heads": kv, "rope_theta": 5000.0, "norm_topk_prob": False, "clip_qkv": None}, {**ROPE, **ROUTED, "attention.head_count_kv": kv})
    x = m.embed[m.ids]
    for _, hf, g in each(m):
        h, s = m.norm(hf + "input_layernorm", g + "attn_norm")(x), hf + "self_attn."
        q = m.norm(s + "q_norm", g + "attn_q_norm", n * DIM)(m.linear(s + "q_proj", g + "attn_q", n * DIM, H)(h))
        k = m.norm(s + "k_norm", g + "attn_k_norm", kv * DIM)(m.linear(s + "k_proj", g + "attn_k", kv * DIM, H)(h))
        v = m.linear(s + "v_proj", g + "attn_v", kv * DIM, H)(h)
        x = x + m.linear(s + "o_proj", g + "attn_output", H, n * DIM)(attend(turn(heads(q, n)), turn(heads(k, kv)), heads(v, kv), DIM**-0.5))
        h, hf = m.norm(hf + "post_attention_layernorm", g + "ffn_norm")(x), hf + "mlp."
        x = x + experts(m, hf, g, h, choose(softmax(m.linear(hf + "gate", g + "ffn_gate_inp", E, H)(h))))
    m.done(x)


def hunyuan_moe():
    ff = FF
    theta = 100.0 * 1000.0 ** (DIM / (DIM - 2))
    m = Made("hunyuan-moe", "hunyuan-moe", 64, 2, {
        "model_type": "hunyuan_v1_moe", **SILU, "num_experts": E, "moe_topk": [USED] * 2, "moe_intermediate_size": [ff] * 2, "num_shared_expert": [1] * 2, "use_mixed_mlp_moe": True,
        "norm_topk_prob": True, "use_qk_norm": True, "use_cla": False, "rope_theta": 100.0, "rope_scaling": {"type": "dynamic", "alpha": 1000.0, "factor": 1.0},
    }, {"rope.freq_base": theta, "rope.dimension_count": DIM, **ROUTED, "expert_feed_forward_length": ff, "expert_shared_feed_forward_length": FF, "expert_shared_count": 1}, tied=True)
    x, f = m.embed[m.ids], freqs(float(np.float32(theta)))
    for _, hf, g in each(m):
        h, s = m.norm(hf + "input_layernorm", g + "attn_norm")(x), hf + "self_attn."
        q, k, v = (heads(m.linear(f"{s}{n}_proj", f"{g}attn_{n}", c * DIM, H)(h), c) for n, c in (("q", HEADS), ("k", KV), ("v", KV)))
        q, k = m.norm(s + "query_layernorm", g + "attn_q_norm", DIM)(rope(q, f)), m.norm(s + "key_layernorm", g + "attn_k_norm", DIM)(rope(k, f))
        x = x + m.linear(s + "o_proj", g + "attn_output", H, HEADS * DIM)(attend(q, k, v, DIM**-0.5))
        h, hf = m.norm(hf + "post_attention_layernorm", g + "ffn_norm")(x), hf + "mlp."
        y = experts(m, hf, g, h, choose(softmax(m.linear(hf + "gate.wg", g + "ffn_gate_inp", E, H)(h)), 0.0, True), ff)
        x = x + y + mlp(m, hf + "shared_mlp.", g, h, FF, kind="_shexp")
    m.done(x)


def dots1():
    ff, shared = 16, 2
    m = Made("dots1", "dots1", 62, 2, {
        "model_type": "dots1", **SILU, "num_key_value_heads": HEADS, "rope_theta": 5000.0, "moe_intermediate_size": ff, "n_routed_experts": E, "n_shared_experts": shared, "num_experts_per_tok": USED,
        "first_k_dense_replace": 1, "norm_topk_prob": True, "routed_scaling_factor": 2.5, "n_group": 1, "topk_group": 1, "scoring_func": "noaux_tc", "sliding_window": None, "attention_bias": False,
    }, {**ROPE, **ROUTED, "attention.head_count_kv": HEADS, "expert_feed_forward_length": ff, "expert_shared_count": shared, "leading_dense_block_count": 1, "expert_weights_scale": 2.5, "expert_weights_norm": True, "expert_gating_func": 2})
    x = m.embed[m.ids]
    for i, hf, g in each(m):
        x = x + attention(m, hf + "self_attn.", g, m.norm(hf + "input_layernorm", g + "attn_norm")(x), turn, norms=("q_norm", "k_norm"), kv=HEADS)
        h, hf = m.norm(hf + "post_attention_layernorm", g + "ffn_norm")(x), hf + "mlp."
        if i == 0:
            x = x + mlp(m, hf, g, h)
            continue
        p = sigmoid(m.linear(hf + "gate", g + "ffn_gate_inp", E, H)(h))
        bias = m.w(hf + "gate.e_score_correction_bias", g + "exp_probs_b.bias", E, scale=0.2)
        x = x + experts(m, hf, g, h, choose(p, bias, True, 2.5), ff) + mlp(m, hf + "shared_experts.", g, h, shared * ff, kind="_shexp")
    m.done(x)


def glm45():
    """Its drafting layer has an embedding and a head of its own."""
    ff, layers = 16, 2
    m = Made("glm4moe", "glm4moe", 65, layers, {
        "model_type": "glm4_moe", **SILU, "head_dim": DIM, "partial_rotary_factor": 0.5, "rope_theta": 5000.0, "attention_bias": True, "use_qk_norm": True, "moe_intermediate_size": ff,
        "n_routed_experts": E, "n_shared_experts": 1, "num_experts_per_tok": USED, "first_k_dense_replace": 1, "norm_topk_prob": True, "routed_scaling_factor": 2.5, "n_group": 1, "topk_group": 1,
        "num_nextn_predict_layers": 1,
    }, {"attention.key_length": DIM, "attention.value_length": DIM, "rope.freq_base": 5000.0, "rope.dimension_count": DIM // 2, **ROUTED, "expert_feed_forward_length": ff, "expert_shared_count": 1,
        "leading_dense_block_count": 1, "expert_weights_scale": 2.5, "expert_weights_norm": True, "expert_gating_func": 2, "expert_group_count": 1, "expert_group_used_count": 1})
    x, f = m.embed[m.ids], freqs(5000.0, DIM // 2)

    def block(i, x):
        hf, g = f"model.layers.{i}.", f"blk.{i}."
        h, s = m.norm(hf + "input_layernorm", g + "attn_norm")(x), hf + "self_attn."
        q, k, v = (heads(m.linear(f"{s}{n}_proj", f"{g}attn_{n}", c * DIM, H, True)(h), c) for n, c in (("q", HEADS), ("k", KV), ("v", KV)))
        q, k = m.norm(s + "q_norm", g + "attn_q_norm", DIM)(q), m.norm(s + "k_norm", g + "attn_k_norm", DIM)(k)
        x = x + m.linear(s + "o_proj", g + "attn_output", H, HEADS * DIM)(attend(rope(q, f), rope(k, f), v, DIM**-0.5))
        h, hf = m.norm(hf + "post_attention_layernorm", g + "post_attention_norm")(x), hf + "mlp."
        if i == 0:
            return x + mlp(m, hf, g, h)
        p = sigmoid(m.linear(hf + "gate", g + "ffn_gate_inp", E, H)(h))
        bias = m.w(hf + "gate.e_score_correction_bias", g + "exp_probs_b.bias", E, scale=0.2)
        return x + experts(m, hf, g, h, choose(p, bias, True, 2.5), ff) + mlp(m, hf + "shared_experts.", g, h, ff, kind="_shexp")

    for i in range(layers):
        x = block(i, x)
    m.drafts(lambda x: block(layers, x), f"model.layers.{layers}.", own=True)
    m.done(x)


def bailing(second):
    """The first has softmaxes, a head of columns of length 1 and rows of q and k that GGUF turns;
    the second sigmoids in groups, norms of heads and half of a head rotated."""
    ff, name = 16, "bailingmoe2" if second else "bailingmoe"
    dim = DIM // 2 if second else DIM
    own = {"score_function": "sigmoid", "use_qk_norm": True, "n_group": 2, "topk_group": 1, "routed_scaling_factor": 2.5, "moe_router_enable_expert_bias": True, "partial_rotary_factor": 0.5,
           "num_nextn_predict_layers": 0} if second else {"norm_head": True, "norm_softmax": False}
    own_keys = {"expert_gating_func": 2, "expert_group_count": 2, "expert_group_used_count": 1, "expert_weights_scale": 2.5, "expert_shared_feed_forward_length": ff} if second else {"expert_weights_scale": 1.0}
    m = Made(name, name, 53 + second, 2, {
        "model_type": "bailing_moe", **SILU, **MOE, "head_dim": DIM, "moe_intermediate_size": ff, "num_shared_experts": 1, "first_k_dense_replace": int(second), "norm_topk_prob": True,
        "rope_theta": 5000.0, "use_bias": False, "use_qkv_bias": False, **own,
    }, {"attention.key_length": DIM, "attention.value_length": DIM, "rope.freq_base": 5000.0, "rope.dimension_count": dim, **ROUTED, "expert_feed_forward_length": ff, "expert_shared_count": 1,
        "leading_dense_block_count": int(second), "expert_weights_norm": True, **own_keys})
    m.hf["model.word_embeddings.weight"] = m.hf.pop("model.embed_tokens.weight")
    x, f = m.embed[m.ids], freqs(5000.0, dim)
    q, kv = HEADS * DIM, KV * DIM
    for i, hf, g in each(m):
        h, s = m.norm(hf + "input_layernorm", g + "attn_norm")(x), hf + "attention."
        w = m.w(s + "query_key_value.weight", g + "attn_qkv.weight" if second else None, q + 2 * kv, H)
        if not second:
            m.gguf[g + "attn_q.weight"], m.gguf[g + "attn_k.weight"], m.gguf[g + "attn_v.weight"] = adjacent(w[:q]), adjacent(w[q:q + kv]), w[q + kv:]
        qs, ks, vs = heads(h @ w[:q].T, HEADS), heads(h @ w[q:q + kv].T, KV), heads(h @ w[q + kv:].T, KV)
        if second:
            qs, ks = m.norm(s + "query_layernorm", g + "attn_q_norm", DIM)(qs), m.norm(s + "key_layernorm", g + "attn_k_norm", DIM)(ks)
        x = x + m.linear(s + "dense", g + "attn_output", H, q)(attend(rope(qs, f), rope(ks, f), vs, DIM**-0.5))
        h, hf = m.norm(hf + "post_attention_layernorm", g + "ffn_norm")(x), hf + "mlp."
        if second and i == 0:
            x = x + mlp(m, hf, g, h)
            continue
        logits = m.linear(hf + "gate", g + "ffn_gate_inp", E, H)(h)
        if second:
            p = sigmoid(logits)
            bias = m.w(hf + "gate.expert_bias", g + "exp_probs_b.bias", E, scale=0.2)
            best = np.where((p + bias)[:, :2].sum(axis=1) >= (p + bias)[:, 2:].sum(axis=1), 0, 1)  # of the two groups of two
            chosen = [[(e, 2.5 * row[e] / row[2 * b:2 * b + 2].sum()) for e in (2 * b, 2 * b + 1)] for row, b in zip(p, best)]
        else:
            chosen = choose(softmax(logits), 0.0, True)
        x = x + experts(m, hf, g, h, chosen, ff) + mlp(m, hf + "shared_experts.", g, h, ff, kind="_shexp")
    x = m.norm("model.norm", "output_norm")(x)
    if not second:
        w = m.w("lm_head.weight", None, len(m.embed), H)
        w = w / (np.sqrt((w * w).sum(axis=0, keepdims=True)) + 1e-7)
        m.gguf["output.weight"] = w
        m.linear = lambda *_, **__: (lambda y: y @ w.T)
    finish(m, x)


def gpt(name, arch, seed, big):
    """Positions are rows of a table. The first one's matrices are stored the other way round."""
    n, kv = HEADS, KV if big else HEADS
    d = H // n
    kind = {"model_type": "gpt_bigcode", "activation_function": "gelu_pytorch_tanh", "multi_query": True} if big else {"model_type": "gpt2", "activation_function": "gelu_new"}
    m = Made(name, arch, seed, 2, kind, {}, before="transformer.", tied=True)
    m.config = {**kind, "n_embd": H, "n_layer": 2, "n_head": n, "n_positions": 512, "n_inner": None, "vocab_size": m.config["vocab_size"], "layer_norm_epsilon": EPS,
                "scale_attn_weights": True, "resid_pdrop": 0.1, "torch_dtype": "float16"}
    m.config["n_inner"] = FF
    del m.keys["attention.layer_norm_rms_epsilon"]
    m.keys.update({"attention.layer_norm_epsilon": EPS, "attention.head_count_kv": kv})
    m.hf["transformer.wte.weight"] = m.hf.pop("transformer.embed_tokens.weight")
    def linear(hf, gguf, out, width):
        w = m.w(hf + ".weight", gguf + ".weight", out, width)
        if not big:
            m.hf[hf + ".weight"] = w.T.copy()
        b = m.w(hf + ".bias", gguf + ".bias", out)
        return lambda x: x @ w.T + b
    x = m.embed[m.ids] + m.w("transformer.wpe.weight", "position_embd.weight", 512, H, scale=0.5)[:len(m.ids)]
    for i in range(2):
        hf, g = f"transformer.h.{i}.", f"blk.{i}."
        if not big:
            m.w(hf + "attn.bias", None, 1, 1, 4, 4)  # a mask, of old files
        qkv = linear(hf + "attn.c_attn", g + "attn_qkv", (n + 2 * kv) * d, H)(layer_norm(m, hf + "ln_1", g + "attn_norm")(x))
        q, k, v = heads(qkv[:, :n * d], n), heads(qkv[:, n * d:(n + kv) * d], kv), heads(qkv[:, (n + kv) * d:], kv)
        x = x + linear(hf + "attn.c_proj", g + "attn_output", H, n * d)(attend(q, k, v, d**-0.5))
        h = linear(hf + "mlp.c_fc", g + "ffn_up", FF, H)(layer_norm(m, hf + "ln_2", g + "ffn_norm")(x))
        x = x + linear(hf + "mlp.c_proj", g + "ffn_down", H, FF)(gelu_tanh(h))
    finish(m, layer_norm(m, "transformer.ln_f", "output_norm")(x))


def gptneox(name, seed, parallel):
    n, d = HEADS, H // HEADS
    m = Made(name, "gptneox", seed, 2, {"model_type": "gpt_neox", "hidden_act": "gelu", "num_key_value_heads": n, "rotary_pct": 0.25, "rotary_emb_base": 5000, "use_parallel_residual": parallel},
             {"attention.head_count_kv": n, "rope.freq_base": 5000.0, "rope.dimension_count": d // 4, "use_parallel_residual": parallel}, before="gpt_neox.")
    del m.config["num_key_value_heads"]
    layer_keys(m)
    m.hf["gpt_neox.embed_in.weight"] = m.hf.pop("gpt_neox.embed_tokens.weight")
    x, f = m.embed[m.ids], freqs(5000.0, d // 4)
    grouped = lambda t: t.reshape(n, 3, d, -1).swapaxes(0, 1).reshape(t.shape)
    for i in range(2):
        hf, g = f"gpt_neox.layers.{i}.", f"blk.{i}."
        m.skipped(hf + "attention.rotary_emb.inv_freq")
        m.hf[hf + "attention.masked_bias"] = np.array(-1e4)
        w = grouped(m.w(hf + "attention.query_key_value.weight", g + "attn_qkv.weight", 3 * H, H, turn=grouped))
        b = grouped(m.w(hf + "attention.query_key_value.bias", g + "attn_qkv.bias", 3 * H, turn=grouped))
        qkv = layer_norm(m, hf + "input_layernorm", g + "attn_norm")(x) @ w.T + b
        q, k, v = (heads(t, n) for t in np.split(qkv, 3, axis=1))
        a = m.linear(hf + "attention.dense", g + "attn_output", H, H, True)(attend(rope(q, f), rope(k, f), v, d**-0.5))
        block = lambda t: plain(m, hf + "mlp.", g, layer_norm(m, hf + "post_attention_layernorm", g + "ffn_norm")(t), gelu, True, ("dense_h_to_4h", "dense_4h_to_h"))
        if parallel:
            x = x + a + block(x)
        else:
            x = x + a
            x = x + block(x)
    finish(m, layer_norm(m, "gpt_neox.final_layer_norm", "output_norm")(x), head="embed_out")


if __name__ == "__main__":
    smollm3()
    arcee()
    minicpm()
    minicpm3()
    internlm2()
    exaone()
    nemotron()
    stablelm("stablelm", 46, False)
    stablelm("stablelm-12b", 47, True)
    olmo()
    apertus()
    olmoe()
    hunyuan_moe()
    dots1()
    glm45()
    bailing(False)
    bailing(True)
    gpt("gpt2", "gpt2", 55, False)
    gpt("starcoder", "starcoder", 56, True)
    gptneox("gptneox", 57, True)
    gptneox("gptneox-sequential", 58, False)
