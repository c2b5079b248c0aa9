#!/usr/bin/env python3
"""Makes the folders of made/: models of the families that the team's fixtures
leave out, each as a GGUF file and as Hugging Face publishes it, and its outputs
in float64, computed from the published names and layouts alone. GGUF's keys and
layouts are those that llama.cpp's converters write.

Made with Python 3.11 and numpy 1.24.2; run it in this folder. With a folder and
--f32 it writes there what llama.cpp computes exactly: F32 GGUF files of as many
layers as it insists on.
"""

import math

import numpy as np

from family_parts import (DIM, E, EPS, F32, FF, H, HEADS, KV, PROMPT, USED, Made, adjacent, add_conv, attention, choose, conv, experts, mamba1, mamba2,
                          mlp, mlp_fused, softplus, yarn)
from make_golden import attend, freqs, heads, rope, sigmoid, silu, softmax, swiglu


def jamba():
    kv = [0, KV, 0, 0]
    m = Made("jamba", "jamba", 21, 4, {
        "model_type": "jamba", "attn_layer_period": 4, "attn_layer_offset": 1, "expert_layer_period": 2, "expert_layer_offset": 1,
        "num_experts": E, "num_experts_per_tok": USED, "mamba_d_conv": 4, "mamba_d_state": 16, "mamba_expand": 2, "mamba_dt_rank": 4,
        "mamba_conv_bias": True, "mamba_proj_bias": False, "hidden_act": "silu",
    }, {"attention.head_count_kv": kv, "ssm.conv_kernel": 4, "ssm.inner_size": 2 * H, "ssm.state_size": 16, "ssm.time_step_rank": 4, "expert_count": E, "expert_used_count": USED})
    x = m.embed[m.ids]
    for i in range(m.layers):
        hf, g = f"model.layers.{i}.", f"blk.{i}."
        h = m.norm(hf + "input_layernorm", g + "attn_norm")(x)
        x = x + (attention(m, hf + "self_attn.", g, h) if kv[i] else mamba1(m, hf + "mamba.", g, h))
        h = m.norm(hf + "pre_ff_layernorm", g + "ffn_norm")(x)
        hf += "feed_forward."
        if i % 2 == 1:
            x = x + experts(m, hf, g, h, choose(softmax(m.linear(hf + "router", g + "ffn_gate_inp", E, H)(h))))
        else:
            x = x + mlp(m, hf, g, h)
    m.done(x, norm="final_layernorm")


def glm(name, arch, seed, post):
    m = Made(name, arch, seed, 2, {
        "model_type": name, "head_dim": DIM, "partial_rotary_factor": 0.5, "rope_theta": 5000.0, "attention_bias": not post, "hidden_act": "silu",
    }, {"rope.dimension_count": DIM // 2, "rope.freq_base": 5000.0})
    x = m.embed[m.ids]
    f = freqs(5000.0, DIM // 2)
    for i in range(m.layers):
        hf, g = f"model.layers.{i}.", f"blk.{i}."
        after = lambda a, b: m.norm(hf + a, g + b) if post else lambda y: y
        h = m.norm(hf + "input_layernorm", g + "attn_norm")(x)
        a = attention(m, hf + "self_attn.", g, h, lambda t: rope(t, f, True), bias=not post)
        x = x + after("post_self_attn_layernorm", "post_attention_norm")(a)
        h = m.norm(hf + "post_attention_layernorm", g + "ffn_norm")(x)
        x = x + after("post_mlp_layernorm", "post_ffw_norm")(mlp_fused(m, hf + "mlp.", g, h))
    m.done(x)


def exaone4(name="exaone4", window=8):
    layers = [True, True, True, False]
    config = {"model_type": "exaone4", "head_dim": DIM, "rope_theta": 5000.0, "hidden_act": "silu", "sliding_window": window or None, "sliding_window_pattern": "LLLG"}
    keys = {"attention.key_length": DIM, "attention.value_length": DIM, "rope.freq_base": 5000.0}
    if window:
        keys.update({"attention.sliding_window": window, "attention.sliding_window_pattern": layers})
    m = Made(name, "exaone4", 23, 4, config, keys)
    x = m.embed[m.ids]
    f = freqs(5000.0)
    for i in range(m.layers):
        hf, g = f"model.layers.{i}.", f"blk.{i}."
        local = bool(window) and layers[i]
        a = attention(m, hf + "self_attn.", g, x, (lambda t: rope(t, f)) if local or not window else (lambda t: t), norms=("q_norm", "k_norm"), window=window if local else 0)
        x = x + m.norm(hf + "post_attention_layernorm", g + "post_attention_norm")(a)
        x = x + m.norm(hf + "post_feedforward_layernorm", g + "post_ffw_norm")(mlp(m, hf + "mlp.", g, x))
    m.done(x)


def ernie_moe():
    ff = 16
    m = Made("ernie4_5-moe", "ernie4_5-moe", 24, 3, {
        "model_type": "ernie4_5_moe", "rope_theta": 5000.0, "hidden_act": "silu", "use_bias": False, "moe_intermediate_size": ff, "moe_k": USED,
        "moe_num_experts": E, "moe_num_shared_experts": 2, "moe_layer_start_index": 1, "moe_layer_interval": 1, "moe_layer_end_index": 2,
    }, {"rope.freq_base": 5000.0, "expert_count": E, "expert_used_count": USED, "expert_feed_forward_length": ff, "expert_shared_count": 2,
        "expert_shared_feed_forward_length": 2 * ff, "interleave_moe_layer_step": 1, "leading_dense_block_count": 1}, tied=True)
    m.skipped("model.mtp_block.0.self_attn.q_proj.weight", "model.mtp_linear_proj.0.weight", "model.mtp_emb_norm.0.weight")
    x = m.embed[m.ids]
    f = freqs(5000.0)
    for i in range(m.layers):
        hf, g = f"model.layers.{i}.", f"blk.{i}."
        x = x + attention(m, hf + "self_attn.", g, m.norm(hf + "input_layernorm", g + "attn_norm")(x), lambda t: rope(t, f, True))
        h = m.norm(hf + "post_attention_layernorm", g + "ffn_norm")(x)
        hf += "mlp."
        if i == 0:
            x = x + mlp(m, hf, g, h)
            continue
        p = softmax(m.linear(hf + "gate", g + "ffn_gate_inp", E, H)(h))
        bias = m.w(hf + "moe_statics.e_score_correction_bias", g + "exp_probs_b.bias", 1, E, scale=0.2, turn=lambda t: t[0])[0]
        x = x + experts(m, hf, g, h, choose(p, bias, True), ff) + mlp(m, hf + "shared_experts.", g, h, 2 * ff, kind="_shexp")
    m.done(x)


def latent(name, arch, seed, kind, *, layers=2, queries=0, wrap=None, before="model.", sigmoid_scores=False, renormalise=False, factor=1.0,
           stretch=None, mscale=None, sharper=True, beta=0.0, form="each", shared=1, drafts=False, config=None, keys=None):
    """DeepSeek's attention. stretch is YaRN's factor and original context; sharper scales scores by
    the square of its size as well."""
    nope, rot, value, rank, ff, base, eps = 16, 8, 16, 32, 16, 10000.0, 1e-6
    rope_keys, f, size, scale = {}, freqs(base, rot), 1.0, (nope + rot) ** -0.5
    if stretch:
        by = lambda k: 1 + 0.1 * k * math.log(stretch[0])
        f, size, scale = yarn(base, rot, *stretch), by(mscale[0]) / by(mscale[1]), scale * (by(mscale[1]) ** 2 if sharper else 1)
        rope_keys = {"rope.scaling.type": "yarn", "rope.scaling.factor": float(stretch[0]), "rope.scaling.original_context_length": stretch[1],
                     "rope.scaling.yarn_log_multiplier": 0.1 * mscale[1]}
    m = Made(name, arch, seed, layers, {
        "model_type": kind, "num_key_value_heads": HEADS, "hidden_act": "silu", "attention_bias": False, "moe_intermediate_size": ff, "n_routed_experts": E,
        "num_experts_per_tok": USED, "n_shared_experts": shared, "first_k_dense_replace": 1, "kv_lora_rank": rank, "q_lora_rank": queries or None,
        "qk_nope_head_dim": nope, "qk_rope_head_dim": rot, "v_head_dim": value, "norm_topk_prob": renormalise, "routed_scaling_factor": factor,
        "n_group": 1, "topk_group": 1, **(config or {}),
    }, {
        "attention.head_count_kv": 1, "attention.key_length": rank + rot, "attention.value_length": rank, "attention.key_length_mla": nope + rot,
        "attention.value_length_mla": value, "attention.kv_lora_rank": rank, "rope.dimension_count": rot, "rope.freq_base": base,
        "leading_dense_block_count": 1, "expert_count": E, "expert_used_count": USED, "expert_feed_forward_length": ff, "expert_shared_count": shared,
        "expert_weights_scale": factor, "expert_weights_norm": renormalise, **({"attention.q_lora_rank": queries} if queries else {}), **rope_keys, **(keys or {}),
    }, before=before, eps=eps)
    turn = lambda t: rope(t, f, True, size)
    temper = 1 + beta * np.log(1 + np.arange(2 * PROMPT) // (stretch[1] if stretch else 1))[:, None, None]

    def layer(i, x):
        hf, g = f"{before}layers.{i}.", f"blk.{i}."
        h = m.norm(hf + "input_layernorm", g + "attn_norm")(x)
        s = hf + "self_attn."
        if queries:
            q = m.norm(s + "q_a_layernorm", g + "attn_q_a_norm", queries)(m.linear(s + "q_a_proj", g + "attn_q_a", queries, H)(h))
            q = m.linear(s + "q_b_proj", g + "attn_q_b", HEADS * (nope + rot), queries)(q)
        else:
            q = m.linear(s + "q_proj", g + "attn_q", HEADS * (nope + rot), H)(h)
        q = heads(q, HEADS)
        c = m.linear(s + "kv_a_proj_with_mqa", g + "attn_kv_a_mqa", rank + rot, H)(h)
        turned = turn(c[:, None, rank:])
        c = m.norm(s + "kv_a_layernorm", g + "attn_kv_a_norm", rank)(c[:, :rank])
        w = m.w(s + "kv_b_proj.weight", None, HEADS * (nope + value), rank)
        apart = w.reshape(HEADS, nope + value, rank)
        m.gguf[g + "attn_k_b.weight"], m.gguf[g + "attn_v_b.weight"] = apart[:, :nope].swapaxes(1, 2), apart[:, nope:]
        kv = heads(c @ w.T, HEADS)
        k = np.concatenate([kv[..., :nope], np.repeat(turned, HEADS, axis=1)], axis=2)
        q = np.concatenate([q[..., :nope], turn(q[..., nope:])], axis=2) * temper[:len(x)]
        x = x + m.linear(s + "o_proj", g + "attn_output", H, HEADS * value)(attend(q, k, kv[..., nope:], scale))
        h = m.norm(hf + "post_attention_layernorm", g + "ffn_norm")(x)
        hf += "mlp."
        if i == 0:
            return x + mlp(m, hf, g, h)
        logits = m.linear(hf + "gate", g + "ffn_gate_inp", E, H)(h)
        if sigmoid_scores:
            bias = m.w(hf + "gate.e_score_correction_bias", g + "exp_probs_b.bias", E, scale=0.2)
            chosen = choose(sigmoid(logits), bias, renormalise, factor)
        else:
            chosen = choose(softmax(logits), 0.0, renormalise, factor)
        names = ("gate_proj", "up_proj", "down_proj") if form == "each" else ("experts.gate_up_proj", None, "experts.down_proj")
        return x + experts(m, hf, g, h, chosen, ff, names, form) + mlp(m, hf + "shared_experts.", g, h, shared * ff, kind="_shexp")

    x = m.embed[m.ids]
    for i in range(m.layers):
        x = layer(i, x)
    if drafts:
        m.drafts(lambda x: layer(layers, x), f"{before}layers.{layers}.")
    if wrap:
        m.skipped("model.vision_tower.transformer.layers.0.attention.q_proj.weight", "model.multi_modal_projector.linear_1.weight")
    m.done(x, wrap=wrap)


def deepseek_lite():
    latent("deepseek-v2-lite", "deepseek2", 25, "deepseek_v2", layers=26 if F32 else 2, stretch=(8.0, 32), mscale=(0.707, 0.707), shared=2, config={
        "topk_method": "greedy", "scoring_func": "softmax", "moe_layer_freq": 1,
        "rope_scaling": {"type": "yarn", "factor": 8, "original_max_position_embeddings": 32, "beta_fast": 32, "beta_slow": 1, "mscale": 0.707, "mscale_all_dim": 0.707},
    })


def glm_flash():
    latent("glm-4.7-flash", "deepseek2", 26, "glm4_moe_lite", queries=24, sigmoid_scores=True, renormalise=True, factor=1.8, drafts=True,
           config={"num_nextn_predict_layers": 1, "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}, "head_dim": 8, "partial_rotary_factor": 1.0},
           keys={"expert_gating_func": 2})


def mistral4(name="mistral4", sharper=True):
    latent(name, "mistral4", 27, "mistral4", queries=24, wrap="mistral3", before="model.language_model.", renormalise=True, stretch=(16.0, 16), mscale=(1.0, 1.0),
           sharper=sharper, beta=0.1, form="stacked", config={"rope_interleave": True, "rope_parameters": {
               "rope_type": "yarn", "type": "yarn", "rope_theta": 10000.0, "factor": 16.0, "original_max_position_embeddings": 16,
               "beta_fast": 32.0, "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.1,
               **({} if sharper else {"apply_yarn_scaling": False})}},
           keys={"attention.temperature_scale": 0.1, "attention.temperature_length": 16})


def nemotron_moe(name, seed, width=0):
    pattern, ff, wide = "ME*E", 16, 24
    layer = lambda c, n: [n if k == c else 0 for k in pattern]
    m = Made(name, "nemotron_h_moe", seed, 4, {
        "model_type": "nemotron_h", "hybrid_override_pattern": pattern, "head_dim": DIM, "layer_norm_epsilon": EPS, "mamba_num_heads": 4, "mamba_head_dim": 16,
        "n_groups": 2, "ssm_state_size": 16, "conv_kernel": 4, "use_conv_bias": True, "use_bias": False, "mamba_hidden_act": "silu", "mlp_hidden_act": "relu2",
        "n_routed_experts": E, "num_experts_per_tok": USED, "n_shared_experts": 1, "moe_intermediate_size": ff, "moe_shared_expert_intermediate_size": wide,
        "norm_topk_prob": True, "routed_scaling_factor": 2.5, "n_group": 1, "topk_group": 1, **({"moe_latent_size": width} if width else {}),
    }, {
        "attention.head_count_kv": layer("*", KV), "feed_forward_length": layer("E", ff), "attention.key_length": DIM, "attention.value_length": DIM,
        "attention.layer_norm_epsilon": EPS, "ssm.conv_kernel": 4, "ssm.inner_size": 64, "ssm.state_size": 16, "ssm.group_count": 2, "ssm.time_step_rank": 4,
        "rope.dimension_count": DIM, "expert_count": E, "expert_used_count": USED, "expert_shared_count": 1, "expert_feed_forward_length": ff,
        "expert_shared_feed_forward_length": wide, "expert_weights_norm": True, "expert_weights_scale": 2.5, "expert_group_count": 1,
        **({"moe_latent_size": width} if width else {}),
    }, before="backbone.")
    m.hf["backbone.embeddings.weight"] = m.hf.pop("backbone.embed_tokens.weight")
    m.skipped("mtp.layers.0.eh_proj.weight")
    x = m.embed[m.ids]
    for i, kind in enumerate(pattern):
        hf, g = f"backbone.layers.{i}.", f"blk.{i}."
        h = m.norm(hf + "norm", g + "attn_norm")(x)
        hf += "mixer."
        if kind == "M":
            y = mamba2(m, hf, g, h, groups=2)
        elif kind == "*":
            y = attention(m, hf, g, h)
        else:
            p = sigmoid(m.linear(hf + "gate", g + "ffn_gate_inp", E, H)(h))
            chosen = choose(p, m.w(hf + "gate.e_score_correction_bias", g + "exp_probs_b.bias", E, scale=0.2), True, 2.5)
            u = m.linear(hf + "fc1_latent_proj", g + "ffn_latent_down", width, H)(h) if width else h
            y = experts(m, hf, g, u, chosen, ff, (None, "up_proj", "down_proj"), width=width or H)
            if width:
                y = m.linear(hf + "fc2_latent_proj", g + "ffn_latent_up", H, width)(y)
            s = np.maximum(m.linear(hf + "shared_experts.up_proj", g + "ffn_up_shexp", wide, H)(h), 0) ** 2
            y = y + m.linear(hf + "shared_experts.down_proj", g + "ffn_down_shexp", H, wide)(s)
        x = x + y
    m.done(x, norm="norm_f")


def lfm2_moe():
    ff, kinds = 16, ["conv", "full_attention", "conv"]
    m = Made("lfm2moe", "lfm2moe", 30, 3, {
        "model_type": "lfm2_moe", "norm_eps": EPS, "rope_theta": 5000.0, "conv_L_cache": 3, "conv_bias": False, "layer_types": kinds, "num_dense_layers": 1,
        "num_experts": E, "num_experts_per_tok": USED, "moe_intermediate_size": ff, "norm_topk_prob": True, "routed_scaling_factor": 1.0, "use_expert_bias": True,
    }, {"attention.head_count_kv": [0, KV, 0], "rope.freq_base": 5000.0, "shortconv.l_cache": 3, "leading_dense_block_count": 1, "expert_count": E,
        "expert_used_count": USED, "expert_feed_forward_length": ff, "expert_gating_func": 2}, tied=True)
    x = m.embed[m.ids]
    f = freqs(5000.0)
    for i, kind in enumerate(kinds):
        hf, g = f"model.layers.{i}.", f"blk.{i}."
        h = m.norm(hf + "operator_norm", g + "attn_norm")(x)
        if kind == "conv":
            b, c, u = np.split(m.linear(hf + "conv.in_proj", g + "shortconv.in_proj", 3 * H, H)(h), 3, axis=1)
            y = c * add_conv(m, hf + "conv.conv", g + "shortconv.conv", H, 3, False)(b * u)
            x = x + m.linear(hf + "conv.out_proj", g + "shortconv.out_proj", H, H)(y)
        else:
            x = x + attention(m, hf + "self_attn.", g, h, lambda t: rope(t, f), norms=("q_layernorm", "k_layernorm"), out="out_proj")
        h = m.norm(hf + "ffn_norm", g + "ffn_norm")(x)
        hf += "feed_forward."
        if i == 0:
            x = x + mlp(m, hf, g, h, names=("w1", "w3", "w2"))
            continue
        p = sigmoid(m.linear(hf + "gate", g + "ffn_gate_inp", E, H)(h))
        bias = m.w(hf + "expert_bias", g + "exp_probs_b.bias", E, scale=0.2)
        x = x + experts(m, hf, g, h, choose(p, bias, True), ff, ("w1", "w3", "w2"))
    m.done(x, norm="embedding_norm", gguf_norm="token_embd_norm")


def granite_moe():
    ff, kinds = 16, ["mamba", "attention"]
    m = Made("granitehybrid-moe", "granitehybrid", 31, 2, {
        "model_type": "granitemoehybrid", "intermediate_size": ff, "shared_intermediate_size": 24, "position_embedding_type": "nope", "layer_types": kinds,
        "mamba_n_heads": 4, "mamba_d_head": 16, "mamba_n_groups": 1, "mamba_d_state": 16, "mamba_d_conv": 4, "mamba_expand": 2, "mamba_conv_bias": True,
        "mamba_proj_bias": False, "num_local_experts": E, "num_experts_per_tok": USED, "embedding_multiplier": 12, "residual_multiplier": 0.25,
        "attention_multiplier": 0.125, "logits_scaling": 4, "hidden_act": "silu", "rope_theta": 10000.0,
    }, {"feed_forward_length": ff, "attention.head_count_kv": [0, KV], "ssm.conv_kernel": 4, "ssm.inner_size": 64, "ssm.state_size": 16, "ssm.group_count": 1,
        "ssm.time_step_rank": 4, "expert_count": E, "expert_used_count": USED, "expert_feed_forward_length": ff, "expert_shared_feed_forward_length": 24,
        "embedding_scale": 12.0, "residual_scale": 0.25, "attention.scale": 0.125, "logit_scale": 4.0, "rope.scaling.finetuned": False,
        "rope.dimension_count": DIM, "rope.freq_base": 10000.0}, tied=True)
    x = 12 * m.embed[m.ids]
    for i, kind in enumerate(kinds):
        hf, g = f"model.layers.{i}.", f"blk.{i}."
        h = m.norm(hf + "input_layernorm", g + "attn_norm")(x)
        y = mamba2(m, hf + "mamba.", g, h) if kind == "mamba" else attention(m, hf + "self_attn.", g, h, scale=0.125, rows=adjacent)
        x = x + 0.25 * y
        h = m.norm(hf + "post_attention_layernorm", g + "ffn_norm")(x)
        logits = m.linear(hf + "block_sparse_moe.router.layer", g + "ffn_gate_inp", E, H)(h)
        y = experts(m, hf + "block_sparse_moe.", g, h, choose(softmax(logits), 0.0, True), ff, ("input_linear.weight", None, "output_linear.weight"), "stacked")
        both = m.w(hf + "shared_mlp.input_linear.weight", None, 48, H)
        m.gguf[g + "ffn_gate_shexp.weight"], m.gguf[g + "ffn_up_shexp.weight"] = both[:24], both[24:]
        y = y + m.linear(hf + "shared_mlp.output_linear", g + "ffn_down_shexp", H, 24)(swiglu(*np.split(h @ both.T, 2, axis=1)))
        x = x + 0.25 * y
    m.done(x, divide=4.0)


def granite(name, arch, seed, kind, moe):
    """Attention in every layer, with rotation."""
    ff = 16
    scales = {"embedding_multiplier": 12, "residual_multiplier": 0.25, "attention_multiplier": 0.125, "logits_scaling": 4}
    hybrid = {"layer_types": ["attention"] * 2, "position_embedding_type": "rope", "shared_intermediate_size": FF, "num_local_experts": 0, "num_experts_per_tok": 0}
    routed = {"intermediate_size": ff, "num_local_experts": E, "num_experts_per_tok": USED}
    m = Made(name, arch, seed, 2, {"model_type": kind, "hidden_act": "silu", "rope_theta": 5000.0, **scales, **(routed if moe else hybrid)}, {
        "embedding_scale": 12.0, "residual_scale": 0.25, "attention.scale": 0.125, "logit_scale": 4.0, "rope.freq_base": 5000.0, "rope.dimension_count": DIM,
        **({"feed_forward_length": ff, "expert_count": E, "expert_used_count": USED} if moe else {}),
    }, tied=True)
    x = 12 * m.embed[m.ids]
    f = freqs(5000.0)
    for i in range(m.layers):
        hf, g = f"model.layers.{i}.", f"blk.{i}."
        h = m.norm(hf + "input_layernorm", g + "attn_norm")(x)
        x = x + 0.25 * attention(m, hf + "self_attn.", g, h, lambda t: rope(t, f), scale=0.125, rows=adjacent)
        h = m.norm(hf + "post_attention_layernorm", g + "ffn_norm")(x)
        if moe:
            logits = m.linear(hf + "block_sparse_moe.router.layer", g + "ffn_gate_inp", E, H)(h)
            y = experts(m, hf + "block_sparse_moe.", g, h, choose(softmax(logits), 0.0, True), ff, ("input_linear.weight", None, "output_linear.weight"), "stacked")
        else:
            both = m.w(hf + "shared_mlp.input_linear.weight", None, 2 * FF, H)
            m.gguf[g + "ffn_gate.weight"], m.gguf[g + "ffn_up.weight"] = both[:FF], both[FF:]
            y = m.linear(hf + "shared_mlp.output_linear", g + "ffn_down", H, FF)(swiglu(*np.split(h @ both.T, 2, axis=1)))
        x = x + 0.25 * y
    m.done(x, divide=4.0)


def qwen_vl_moe():
    ff = 16
    m = Made("qwen3vlmoe", "qwen3vlmoe", 32, 2, {
        "model_type": "qwen3_vl_moe_text", "head_dim": DIM, "hidden_act": "silu", "attention_bias": False, "rope_theta": 5000.0, "moe_intermediate_size": ff,
        "num_experts": E, "num_experts_per_tok": USED, "norm_topk_prob": True, "decoder_sparse_step": 1, "mlp_only_layers": [],
        "rope_scaling": {"rope_type": "default", "mrope_section": [3, 3, 2], "mrope_interleaved": True},
    }, {"attention.key_length": DIM, "attention.value_length": DIM, "rope.freq_base": 5000.0, "rope.dimension_sections": [3, 3, 2, 0], "n_deepstack_layers": 0,
        "expert_count": E, "expert_used_count": USED, "expert_feed_forward_length": ff}, before="model.language_model.")
    m.skipped("model.visual.blocks.0.attn.qkv.weight", "model.visual.merger.linear_fc1.weight")
    x = m.embed[m.ids]
    f = freqs(5000.0)
    for i in range(m.layers):
        hf, g = f"model.language_model.layers.{i}.", f"blk.{i}."
        x = x + attention(m, hf + "self_attn.", g, m.norm(hf + "input_layernorm", g + "attn_norm")(x), lambda t: rope(t, f), norms=("q_norm", "k_norm"))
        h = m.norm(hf + "post_attention_layernorm", g + "ffn_norm")(x)
        p = softmax(m.linear(hf + "mlp.gate", g + "ffn_gate_inp", E, H)(h))
        x = x + experts(m, hf + "mlp.", g, h, choose(p, 0.0, True), ff, ("experts.gate_up_proj", None, "experts.down_proj"), "turned")
    m.done(x, wrap="qwen3_vl_moe")


def qwen35_moe():
    """Three of four layers are gated delta nets, here two of three."""
    ff, keys, values, d, taps, before = 16, 2, 4, 16, 4, "model.language_model."
    m = Made("qwen35moe", "qwen35moe", 33, 3, {
        "model_type": "qwen3_5_moe_text", "head_dim": DIM, "hidden_act": "silu", "attention_bias": False, "moe_intermediate_size": ff,
        "shared_expert_intermediate_size": ff, "num_experts": E, "num_experts_per_tok": USED, "full_attention_interval": 3, "mtp_num_hidden_layers": 1,
        "layer_types": ["linear_attention", "linear_attention", "full_attention"], "linear_num_key_heads": keys, "linear_num_value_heads": values,
        "linear_key_head_dim": d, "linear_value_head_dim": d, "linear_conv_kernel_dim": taps, "attn_output_gate": True,
        "rope_parameters": {"rope_type": "default", "rope_theta": 5000.0, "partial_rotary_factor": 0.25, "mrope_section": [1, 1, 0], "mrope_interleaved": True},
    }, {"attention.key_length": DIM, "attention.value_length": DIM, "rope.freq_base": 5000.0, "rope.dimension_count": DIM // 4, "rope.dimension_sections": [1, 1, 0, 0],
        "ssm.conv_kernel": taps, "ssm.state_size": d, "ssm.group_count": keys, "ssm.time_step_rank": values, "ssm.inner_size": values * d, "full_attention_interval": 3,
        "expert_count": E, "expert_used_count": USED, "expert_feed_forward_length": ff, "expert_shared_feed_forward_length": ff}, before=before, eps=1e-6)
    m.skipped("model.visual.blocks.0.attn.qkv.weight")
    share = values // keys
    tiled = [k * share + r for r in range(share) for k in range(keys)]  # GGUF's order of value heads
    rows = lambda first: (lambda t: np.concatenate([t[:first], t[first:].reshape(values, -1, *t.shape[1:])[tiled].reshape(t[first:].shape)]))
    x = m.embed[m.ids]
    f = freqs(5000.0, DIM // 4)
    unit = lambda t: t / np.sqrt((t * t).sum(axis=-1, keepdims=True) + 1e-6)

    def look(hf, g, h, x):
        s = hf + "self_attn."
        both = heads(m.linear(s + "q_proj", g + "attn_q", 2 * HEADS * DIM, H)(h), HEADS)
        k, v = (heads(m.linear(f"{s}{n}_proj", f"{g}attn_{n}", KV * DIM, H)(h), KV) for n in "kv")
        q = m.norm(s + "q_norm", g + "attn_q_norm", DIM, less=1.0)(both[..., :DIM])
        k = m.norm(s + "k_norm", g + "attn_k_norm", DIM, less=1.0)(k)
        y = attend(rope(q, f), rope(k, f), v, DIM**-0.5) * sigmoid(both[..., DIM:].reshape(len(x), -1))
        return x + m.linear(s + "o_proj", g + "attn_output", H, HEADS * DIM)(y)

    def feed(hf, g, x):
        h = m.norm(hf + "post_attention_layernorm", g + "post_attention_norm", less=1.0)(x)
        hf += "mlp."
        p = softmax(m.linear(hf + "gate", g + "ffn_gate_inp", E, H)(h))
        y = experts(m, hf, g, h, choose(p, 0.0, True), ff, ("experts.gate_up_proj", None, "experts.down_proj"), "stacked")
        weigh = m.w(hf + "shared_expert_gate.weight", g + "ffn_gate_inp_shexp.weight", 1, H, turn=lambda t: t[0])
        return x + y + sigmoid(h @ weigh.T) * mlp(m, hf + "shared_expert.", g, h, ff, kind="_shexp")

    for i in range(m.layers):
        hf, g = f"{before}layers.{i}.", f"blk.{i}."
        h = m.norm(hf + "input_layernorm", g + "attn_norm", less=1.0)(x)
        if i == 2:
            x = look(hf, g, h, x)
        else:
            s, n = hf + "linear_attn.", 2 * keys * d
            u = m.linear(s + "in_proj_qkv", g + "attn_qkv", n + values * d, H, turn=rows(n))(h)
            z = m.linear(s + "in_proj_z", g + "attn_gate", values * d, H, turn=rows(0))(h)
            beta = sigmoid(m.linear(s + "in_proj_b", g + "ssm_beta", values, H, turn=rows(0))(h))
            a = m.linear(s + "in_proj_a", g + "ssm_alpha", values, H, turn=rows(0))(h)
            w = m.w(s + "conv1d.weight", g + "ssm_conv1d.weight", n + values * d, 1, taps, scale=0.5, turn=lambda t: rows(n)(t[:, 0]))[:, 0]
            u = silu(conv(u, w))
            dt = m.w(s + "dt_bias", g + "ssm_dt.bias", values, turn=rows(0))
            decay = -np.exp(m.w(s + "A_log", g + "ssm_a", values, turn=lambda t: rows(0)(-np.exp(t)))) * softplus(a + dt)
            q, k = (np.repeat(unit(heads(t, keys)), share, axis=1) for t in (u[:, :keys * d], u[:, keys * d:n]))
            q, v = q / math.sqrt(d), heads(u[:, n:], values)
            state, out = np.zeros((values, d, d)), []
            for t in range(len(x)):
                state = np.exp(decay[t])[:, None, None] * state
                state = state + k[t][:, :, None] * (beta[t][:, None] * (v[t] - np.einsum("hkv,hk->hv", state, k[t])))[:, None, :]
                out.append(np.einsum("hkv,hk->hv", state, q[t]))
            y = m.norm(s + "norm", g + "ssm_norm", d)(np.array(out)) * silu(heads(z, values))
            x = x + m.linear(s + "out_proj", g + "ssm_out", H, values * d, turn=lambda t: rows(0)(t.T).T)(y.reshape(len(x), -1))
        x = feed(hf, g, x)

    def more(x):
        hf, g = "mtp.layers.0.", f"blk.{m.layers}."
        return feed(hf, g, look(hf, g, m.norm(hf + "input_layernorm", g + "attn_norm", less=1.0)(x), x))

    m.drafts(more, "mtp.", ("fc", "pre_fc_norm_embedding", "pre_fc_norm_hidden", "norm"), less=1.0)
    m.done(x, less=1.0, wrap="qwen3_5_moe")


if __name__ == "__main__":
    jamba()
    glm("glm4", "glm4", 22, True)
    glm("glm", "chatglm", 22, False)
    exaone4()
    exaone4("exaone4+whole", 0)  # llama.cpp knows windows by 64 layers only
    ernie_moe()
    deepseek_lite()
    glm_flash()
    mistral4()
    mistral4("mistral4+nomscale", False)
    nemotron_moe("nemotron_h_moe", 28)
    nemotron_moe("nemotron_h_moe-latent", 29, 24)
    lfm2_moe()
    granite_moe()
    granite("granite-4", "granite", 34, "granitemoehybrid", False)
    granite("granitemoe", "granitemoe", 35, "granitemoe", True)
    qwen_vl_moe()
    qwen35_moe()
