package model

import (
	"math"
	"slices"
	"strings"
	"sync"

	"quern/formats/weights"
)

// An hfFamily is a model_type of config.json: the architecture it is in GGUF's
// terms, and what it has that others have not.
type hfFamily struct {
	arch     string
	choose   func(*hfConfig) string // says arch where model_type alone does not,
	others   []string               // and may say these
	eps      string                 // config.json's key of the norms' epsilon
	layer    bool                   // norms are LayerNorm, not RMSNorm
	defaults map[string]any         // what transformers assumes for keys left out
	more     func(c *hfConfig, set func(key string, v any))
	names    map[string]string // names in a layer that mean something else here
	plusOne  bool              // norms are stored less one
	norotary bool
	change   func(tr *translation, t *weights.Tensor) (done bool, err error)  // makes tensors GGUF's, or passes them by; nil for none
	rotary   func(c *hfConfig, set func(key string, v any)) []*weights.Tensor // in place of (*hfConfig).rotary
	reads    []string                                                         // keys of hfOff that the family reads
}

// hfFamilies is every model_type quern translates. Which of the architectures
// there are, opener says.
var hfFamilies = sync.OnceValue(func() map[string]hfFamily {
	return map[string]hfFamily{
		"llama":            {arch: "llama", eps: "rms_norm_eps"},
		"mistral":          {arch: "llama", eps: "rms_norm_eps", more: slidingWindow},
		"mixtral":          {arch: "llama", eps: "rms_norm_eps", more: all(slidingWindow, experts), defaults: map[string]any{"rope_theta": 1e6}},
		"smollm3":          {arch: "smollm3", eps: "rms_norm_eps", more: noRopeLayers, defaults: map[string]any{"rope_theta": 2e6}},
		"qwen2":            {arch: "qwen2", eps: "rms_norm_eps", more: qwenWindow},
		"qwen3":            {arch: "qwen3", eps: "rms_norm_eps", more: qwenWindow, defaults: map[string]any{"head_dim": int64(128)}},
		"qwen2_moe":        {arch: "qwen2moe", eps: "rms_norm_eps", more: all(qwenWindow, experts)},
		"qwen3_moe":        {arch: "qwen3moe", eps: "rms_norm_eps", more: all(qwenWindow, experts)},
		"phi":              {arch: "phi2", eps: "layer_norm_eps", layer: true, defaults: map[string]any{"partial_rotary_factor": 0.5}},
		"phi3":             {arch: "phi3", eps: "rms_norm_eps", more: slidingWindow},
		"phimoe":           {arch: "phimoe", eps: "rms_norm_eps", layer: true, more: all(slidingWindow, experts, sparseMixer), defaults: map[string]any{"num_experts_per_tok": int64(2)}},
		"falcon":           {arch: "falcon", eps: "layer_norm_epsilon", layer: true, more: falcon, names: map[string]string{"ln_mlp": "attn_norm", "ln_attn": "attn_norm_2"}},
		"gemma2":           {arch: "gemma2", eps: "rms_norm_eps", plusOne: true, more: gemma(2), names: gemmaNorms, reads: gemmaCaps, defaults: map[string]any{"sliding_window": int64(4096), "query_pre_attn_scalar": int64(256), "final_logit_softcapping": 30.0, "attn_logit_softcapping": 50.0}},
		"gemma3_text":      {arch: "gemma3", eps: "rms_norm_eps", plusOne: true, more: gemma(6), names: gemmaNorms, reads: gemmaCaps[1:], defaults: gemma3Defaults},
		"gemma3":           {arch: "gemma3", eps: "rms_norm_eps", plusOne: true, more: gemma(6), names: gemmaNorms, reads: gemmaCaps[1:], defaults: gemma3Defaults},
		gemmaEncoder:       {arch: "gemma-embedding", eps: "rms_norm_eps", plusOne: true, more: gemma(6), names: gemmaNorms, reads: []string{"use_bidirectional_attention"}, defaults: gemma3Defaults},
		"starcoder2":       {arch: "starcoder2", eps: "norm_epsilon", layer: true, more: slidingWindow},
		"olmo2":            {arch: "olmo2", eps: "rms_norm_eps", names: map[string]string{"post_attention_layernorm": "post_attention_norm"}},
		"olmo3":            {arch: "olmo2", eps: "rms_norm_eps", names: map[string]string{"post_attention_layernorm": "post_attention_norm"}, more: layerWindows(4), defaults: map[string]any{"sliding_window": int64(4096)}},
		"exaone4":          {arch: "exaone4", eps: "rms_norm_eps", names: map[string]string{"post_attention_layernorm": "post_attention_norm"}, more: layerWindows(4)},
		"seed_oss":         {arch: "seed_oss", eps: "rms_norm_eps", names: map[string]string{"post_attention_layernorm": "post_attention_norm"}, defaults: map[string]any{"head_dim": int64(128)}},
		"ernie4_5":         {arch: "ernie4_5", eps: "rms_norm_eps", defaults: map[string]any{"rope_theta": 5e5, "head_dim": int64(128)}},
		"cohere":           {arch: "command-r", eps: "layer_norm_eps", layer: true, more: cohereScale, reads: []string{"logit_scale"}, defaults: map[string]any{"logit_scale": 0.0625}},
		"cohere2":          {arch: "cohere2", eps: "layer_norm_eps", layer: true, more: all(cohereScale, layerWindows(4)), reads: []string{"logit_scale"}, defaults: map[string]any{"logit_scale": 0.0625, "sliding_window": int64(4096)}},
		"hunyuan_v1_dense": {arch: "hunyuan-dense", eps: "rms_norm_eps", names: map[string]string{"self_attn.query_layernorm": "attn_q_norm", "self_attn.key_layernorm": "attn_k_norm"}},
		"qwen2_vl":         {arch: "qwen2vl", eps: "rms_norm_eps", more: all(qwenWindow, sections), defaults: map[string]any{"rope_theta": 1e6}},
		"qwen2_5_vl":       {arch: "qwen2vl", eps: "rms_norm_eps", more: all(qwenWindow, sections), defaults: map[string]any{"rope_theta": 1e6}},
		"qwen3_vl":         {arch: "qwen3vl", eps: "rms_norm_eps", more: all(qwenWindow, sections), defaults: map[string]any{"rope_theta": 5e6, "head_dim": int64(128)}},
		"qwen3_vl_moe":     {arch: "qwen3vlmoe", eps: "rms_norm_eps", more: all(qwenWindow, sections, experts), defaults: map[string]any{"rope_theta": 5e6, "head_dim": int64(128), "norm_topk_prob": true}},
		"deepseek_v2":      {arch: "deepseek2", eps: "rms_norm_eps", names: deepseekNames, more: deepseekConfig, reads: routedReads, defaults: map[string]any{"scoring_func": "softmax"}},
		"deepseek_v3":      {arch: "deepseek2", eps: "rms_norm_eps", names: deepseekNames, more: deepseekConfig, reads: routedReads, defaults: deepseekDefaults},
		"kimi_k2":          {arch: "deepseek2", eps: "rms_norm_eps", names: deepseekNames, more: deepseekConfig, reads: routedReads, defaults: deepseekDefaults},
		"glm4_moe_lite":    {arch: "deepseek2", eps: "rms_norm_eps", names: deepseekNames, more: deepseekConfig, reads: routedReads, defaults: deepseekDefaults},
		"mistral4":         {arch: "mistral4", eps: "rms_norm_eps", names: deepseekNames, more: deepseekConfig, reads: routedReads, defaults: map[string]any{"norm_topk_prob": true}},
		"ministral3":       {arch: "mistral3", eps: "rms_norm_eps", more: all(slidingWindow, temper), defaults: map[string]any{"head_dim": int64(128)}},
		"llama4":           {arch: "llama4", eps: "rms_norm_eps", names: llama4Names, more: llama4Config, reads: llama4Reads, defaults: llama4Defaults},
		"llama4_text":      {arch: "llama4", eps: "rms_norm_eps", names: llama4Names, more: llama4Config, reads: llama4Reads, defaults: llama4Defaults},
		"qwen3_next":       {arch: "qwen3next", eps: "rms_norm_eps", plusOne: true, names: qwenNextNames, more: qwenNext, defaults: map[string]any{"partial_rotary_factor": 0.25, "norm_topk_prob": true, "head_dim": int64(256)}},
		"qwen3_5":          {arch: "qwen35", eps: "rms_norm_eps", plusOne: true, names: qwenNextNames, more: qwenNext, defaults: map[string]any{"partial_rotary_factor": 0.25, "head_dim": int64(256)}},
		"qwen3_5_text":     {arch: "qwen35", eps: "rms_norm_eps", plusOne: true, names: qwenNextNames, more: qwenNext, defaults: map[string]any{"partial_rotary_factor": 0.25, "head_dim": int64(256)}},
		"qwen3_5_moe":      {arch: "qwen35moe", eps: "rms_norm_eps", plusOne: true, names: qwenNextNames, more: qwenNext, defaults: map[string]any{"partial_rotary_factor": 0.25, "norm_topk_prob": true, "head_dim": int64(256)}},
		"qwen3_5_moe_text": {arch: "qwen35moe", eps: "rms_norm_eps", plusOne: true, names: qwenNextNames, more: qwenNext, defaults: map[string]any{"partial_rotary_factor": 0.25, "norm_topk_prob": true, "head_dim": int64(256)}},
		"falcon_h1":        {arch: "falcon-h1", eps: "rms_norm_eps", names: falconH1Names, more: falconH1Config, reads: falconH1Reads},
		"mamba":            {arch: "mamba", eps: "layer_norm_epsilon", norotary: true, names: mambaNames, more: mambaConfig},
		"falcon_mamba":     {arch: "mamba", eps: "layer_norm_epsilon", norotary: true, names: mambaNames, more: mambaConfig},
		"mamba2":           {arch: "mamba2", eps: "layer_norm_epsilon", norotary: true, names: mambaNames, more: mambaConfig},
		"jamba":            {arch: "jamba", eps: "rms_norm_eps", norotary: true, names: jambaNames, more: jambaConfig, defaults: jambaDefaults},
		"glm":              {arch: "chatglm", eps: "rms_norm_eps", defaults: map[string]any{"partial_rotary_factor": 0.5, "head_dim": int64(128)}},
		"glm4":             {arch: "glm4", eps: "rms_norm_eps", names: glm4Names, defaults: map[string]any{"partial_rotary_factor": 0.5, "head_dim": int64(128)}},
		"nemotron_h":       {arch: "nemotron_h", choose: nemotronArch, others: []string{"nemotron_h_moe"}, eps: "layer_norm_epsilon", norotary: true, names: nemotronNames, more: nemotronConfig, reads: routedReads, defaults: map[string]any{"layer_norm_epsilon": 1e-5}},
		"granitemoe":       {arch: "granitemoe", eps: "rms_norm_eps", names: graniteHybridNames, more: graniteHybridConfig, reads: graniteReads, defaults: graniteDefaults},
		"granitemoeshared": {arch: "granitemoe", eps: "rms_norm_eps", names: graniteHybridNames, more: graniteHybridConfig, reads: graniteReads, defaults: graniteDefaults},
		"granitemoehybrid": {choose: graniteArch, others: []string{"granite", "granitemoe"}, arch: "granitehybrid", eps: "rms_norm_eps", names: graniteHybridNames, more: graniteHybridConfig, reads: graniteReads, defaults: graniteDefaults},
		"lfm2":             {arch: "lfm2", eps: "norm_eps", names: lfm2Names, more: lfm2Config, defaults: map[string]any{"rope_theta": 1e6, "tie_word_embeddings": true}},
		"lfm2_moe":         {arch: "lfm2moe", eps: "norm_eps", names: lfm2Names, more: lfm2Config, reads: routedReads, defaults: map[string]any{"rope_theta": 1e6, "tie_word_embeddings": true}},
		"glm4_moe":         {arch: "glm4moe", eps: "rms_norm_eps", names: map[string]string{"post_attention_layernorm": "post_attention_norm"}, more: routedExperts, reads: routedReads, defaults: map[string]any{"partial_rotary_factor": 0.5, "norm_topk_prob": true, "routed_scaling_factor": 1.0}},
		"minimax_m2":       {arch: "minimax-m2", eps: "rms_norm_eps", more: all(miniMax, routedExperts), reads: routedReads},
		"ernie4_5_moe":     {arch: "ernie4_5-moe", eps: "rms_norm_eps", more: all(ernieMoE, routedExperts), reads: routedReads, defaults: map[string]any{"rope_theta": 5e5}},
		"granite":          {arch: "granite", eps: "rms_norm_eps", more: granite, reads: graniteReads, defaults: graniteDefaults},
		"gpt_oss":          {arch: "gpt-oss", eps: "rms_norm_eps", more: all(experts, gptOSSConfig), names: gptOSSNames},
		"bert":             {arch: "bert", eps: "layer_norm_eps", layer: true, norotary: true, more: bidirectional, reads: []string{"is_causal"}},
		"xlm-roberta":      {arch: "bert", eps: "layer_norm_eps", layer: true, norotary: true, more: all(bidirectional, offsetPositions), reads: []string{"is_causal"}},
		"roberta":          {arch: "bert", eps: "layer_norm_eps", layer: true, norotary: true, more: all(bidirectional, offsetPositions), reads: []string{"is_causal"}},
		"camembert":        {arch: "bert", eps: "layer_norm_eps", layer: true, norotary: true, more: all(bidirectional, offsetPositions), reads: []string{"is_causal"}},
		"modernbert":       {arch: "modern-bert", eps: "norm_eps", layer: true, more: all(bidirectional, modernBertConfig), names: modernBertNames, reads: []string{"is_causal"}, defaults: modernBertDefaults},
		jinaBert:           {arch: "jina-bert-v2", eps: "layer_norm_eps", layer: true, norotary: true, more: bidirectional, names: jinaNames, reads: []string{"is_causal"}},
		"nomic_bert":       {arch: "nomic-bert", eps: "layer_norm_epsilon", layer: true, more: all(bidirectional, trainedLength), reads: []string{"is_causal"}, defaults: map[string]any{"rotary_emb_base": 10000.0}},

		"gemma":          {arch: "gemma", eps: "rms_norm_eps", plusOne: true, defaults: map[string]any{"head_dim": int64(256), "tie_word_embeddings": true}},
		"bloom":          {arch: "bloom", eps: "layer_norm_epsilon", layer: true, norotary: true, more: bloomConfig, change: (*translation).groupedNeoX, defaults: map[string]any{"tie_word_embeddings": true}},
		"mpt":            {arch: "mpt", eps: "layer_norm_epsilon", layer: true, norotary: true, names: mptNames, more: mptConfig, defaults: map[string]any{"tie_word_embeddings": true}},
		"opt":            {arch: "opt", layer: true, norotary: true, names: optNames, more: optConfig, defaults: map[string]any{"tie_word_embeddings": true, "max_position_embeddings": int64(2048)}},
		"gptj":           {arch: "gptj", eps: "layer_norm_epsilon", layer: true, names: gptjNames, more: rotaryDim, defaults: map[string]any{"rotary_dim": int64(64)}},
		"qwen":           {arch: "qwen", eps: "layer_norm_epsilon", names: qwenNames, more: qwenConfig},
		"mimo":           {arch: "qwen2", eps: "rms_norm_eps", more: qwenWindow},
		"deepseek":       {arch: "deepseek", eps: "rms_norm_eps", more: routedExperts, reads: routedReads, defaults: map[string]any{"norm_topk_prob": false, "routed_scaling_factor": 1.0}},
		"afmoe":          {arch: "afmoe", eps: "rms_norm_eps", names: afmoeNames, more: all(afmoeConfig, routedExperts, layerWindows(4)), defaults: map[string]any{"head_dim": int64(128)}},
		"exaone_moe":     {arch: "exaone-moe", eps: "rms_norm_eps", names: map[string]string{"mlp.e_score_correction_bias": "exp_probs_b.bias"}, more: all(exaoneMoE, routedExperts, layerWindows(4)), reads: routedReads, defaults: map[string]any{"norm_topk_prob": true, "scoring_func": "sigmoid", "sliding_window": int64(128)}},
		"arcee":          {arch: "arcee", eps: "rms_norm_eps"},
		"internlm2":      {arch: "internlm2", eps: "rms_norm_eps", names: internlm2Names, change: (*translation).groupedQKV},
		"internlm3":      {arch: "llama", eps: "rms_norm_eps"},
		"minicpm":        {arch: "minicpm", eps: "rms_norm_eps", more: miniCPMConfig, reads: []string{"scale_emb", "scale_depth"}, defaults: map[string]any{"tie_word_embeddings": true}},
		"minicpm3":       {arch: "minicpm3", eps: "rms_norm_eps", names: deepseekNames, more: all(miniCPMConfig, miniCPM3Sizes), rotary: miniCPM3Rotary, change: (*translation).keptKV, reads: []string{"scale_emb", "scale_depth"}, defaults: map[string]any{"tie_word_embeddings": true, "scale_emb": 12.0, "scale_depth": 1.4, "dim_model_base": 256.0}},
		"exaone":         {arch: "exaone", eps: "layer_norm_epsilon", names: exaoneNames},
		"nemotron":       {arch: "nemotron", eps: "norm_eps", layer: true, plusOne: true, defaults: map[string]any{"partial_rotary_factor": 0.5}},
		"stablelm":       {arch: "stablelm", eps: "layer_norm_eps", layer: true, names: stableNames(), more: sideBySide(false), defaults: map[string]any{"partial_rotary_factor": 0.25}},
		"olmo":           {arch: "olmo", layer: true, more: olmoConfig, reads: []string{"clip_qkv"}},
		"apertus":        {arch: "apertus", eps: "rms_norm_eps", choose: apertusArch, names: apertusNames, change: (*translation).takeXIELU, defaults: map[string]any{"rope_theta": 12e6}},
		"gpt2":           {arch: "gpt2", eps: "layer_norm_epsilon", layer: true, norotary: true, names: gptNames, change: (*translation).transposed, defaults: map[string]any{"tie_word_embeddings": true}},
		"gpt_bigcode":    {arch: "starcoder", eps: "layer_norm_epsilon", layer: true, norotary: true, names: gptNames, more: oneKeyHead, defaults: map[string]any{"tie_word_embeddings": true}},
		"gpt_neox":       {arch: "gptneox", eps: "layer_norm_eps", layer: true, names: neoxNames, more: all(sideBySide(true), neoxConfig), change: (*translation).groupedNeoX, defaults: map[string]any{"rotary_pct": 0.25}},
		"olmoe":          {arch: "olmoe", eps: "rms_norm_eps", more: experts, defaults: map[string]any{"norm_topk_prob": false}},
		"hunyuan_v1_moe": {arch: "hunyuan-moe", eps: "rms_norm_eps", names: hunyuanNames, more: hunyuanConfig, defaults: map[string]any{"norm_topk_prob": true}},
		"hunyuan":        {arch: "hunyuan-moe", eps: "rms_norm_eps", names: hunyuanNames, more: hunyuanConfig, defaults: map[string]any{"norm_topk_prob": true}},
		"dots1":          {arch: "dots1", eps: "rms_norm_eps", more: all(dotsConfig, routedExperts), reads: routedReads, defaults: map[string]any{"norm_topk_prob": false}},
		"bailing_moe":    {arch: "bailingmoe", choose: bailingArch, others: []string{"bailingmoe2"}, eps: "rms_norm_eps", names: bailingNames, more: bailingConfig, change: (*translation).changeBailing, reads: routedReads},
		"bailing_moe_v2": {arch: "bailingmoe2", choose: bailingArch, eps: "rms_norm_eps", names: bailingNames, more: bailingConfig, change: (*translation).changeBailing, reads: routedReads},

		"gemma3n":             {arch: "gemma3n", eps: "rms_norm_eps", names: gemma3nNames, more: gemma3nConfig, change: (*translation).changeGemma3n, reads: gemma3nReads, defaults: gemma3nDefaults},
		"gemma3n_text":        {arch: "gemma3n", eps: "rms_norm_eps", names: gemma3nNames, more: gemma3nConfig, change: (*translation).changeGemma3n, reads: gemma3nReads, defaults: gemma3nDefaults},
		"gemma4":              {arch: "gemma4", eps: "rms_norm_eps", names: gemma4Names, rotary: gemma4Rotary, more: gemma4Config, reads: gemma4Reads, defaults: gemma4Defaults},
		"gemma4_text":         {arch: "gemma4", eps: "rms_norm_eps", names: gemma4Names, rotary: gemma4Rotary, more: gemma4Config, reads: gemma4Reads, defaults: gemma4Defaults},
		"gemma4_unified":      {arch: "gemma4", eps: "rms_norm_eps", names: gemma4Names, rotary: gemma4Rotary, more: gemma4Config, reads: gemma4Reads, defaults: gemma4Defaults},
		"gemma4_unified_text": {arch: "gemma4", eps: "rms_norm_eps", names: gemma4Names, rotary: gemma4Rotary, more: gemma4Config, reads: gemma4Reads, defaults: gemma4Defaults},
		"rwkv7":               {arch: "rwkv7", eps: "norm_eps", layer: true, norotary: true, names: rwkv7Names, change: (*translation).changeRWKV7, more: rwkv7Config, defaults: map[string]any{"norm_eps": 1e-5}},
	}
})

// hfEps is what transformers assumes for an epsilon left out.
var hfEps = map[string]float64{
	"llama": 1e-6, "mistral": 1e-6, "mixtral": 1e-5, "smollm3": 1e-6, "qwen2": 1e-6, "qwen3": 1e-6, "qwen2_moe": 1e-6, "qwen3_moe": 1e-6,
	"phi": 1e-5, "phi3": 1e-5, "phimoe": 1e-5, "falcon": 1e-5, "gemma2": 1e-6, "gemma3_text": 1e-6, "gemma3": 1e-6, gemmaEncoder: 1e-6, jinaBert: 1e-12, "xlm-roberta": 1e-12, "roberta": 1e-12, "camembert": 1e-12, "modernbert": 1e-5,
	"olmo3": 1e-5, "exaone4": 1e-5, "seed_oss": 1e-6, "ernie4_5": 1e-5, "cohere": 1e-5, "cohere2": 1e-5, "hunyuan_v1_dense": 1e-5,
	"deepseek_v2": 1e-6, "deepseek_v3": 1e-6, "kimi_k2": 1e-6, "glm4_moe_lite": 1e-5, "mistral4": 1e-6, "ministral3": 1e-5, "llama4": 1e-5, "llama4_text": 1e-5, "qwen3_next": 1e-6, "qwen3_5": 1e-6, "qwen3_5_text": 1e-6, "qwen3_5_moe": 1e-6, "qwen3_5_moe_text": 1e-6, "falcon_h1": 1e-5, "mamba": 1e-5, "falcon_mamba": 1e-5, "mamba2": 1e-5,
	"nemotron_h": 1e-5, "jamba": 1e-6, "glm": 1.5625e-07, "glm4": 1.5625e-07, "granitemoehybrid": 1e-6, "granitemoe": 1e-6, "granitemoeshared": 1e-6, "lfm2": 1e-5, "lfm2_moe": 1e-5, "glm4_moe": 1e-5, "minimax_m2": 1e-6, "ernie4_5_moe": 1e-5, "qwen2_vl": 1e-5, "qwen2_5_vl": 1e-5, "qwen3_vl": 1e-6, "qwen3_vl_moe": 1e-6,
	"gemma": 1e-6, "bloom": 1e-5, "mpt": 1e-5, "opt": 1e-5, "gptj": 1e-5, "qwen": 1e-6, "mimo": 1e-6, "deepseek": 1e-6, "afmoe": 1e-5, "exaone_moe": 1e-5,
	"arcee": 1e-5, "internlm2": 1e-6, "internlm3": 1e-6, "minicpm": 1e-6, "minicpm3": 1e-6, "exaone": 1e-6, "nemotron": 1e-5, "stablelm": 1e-5, "olmo": 1e-5, "apertus": 1e-5, "gpt2": 1e-5, "gpt_bigcode": 1e-5, "gpt_neox": 1e-5,
	"olmoe": 1e-5, "hunyuan_v1_moe": 1e-5, "hunyuan": 1e-5, "dots1": 1e-6, "bailing_moe": 1e-6, "bailing_moe_v2": 1e-6,
	"starcoder2": 1e-5, "olmo2": 1e-5, "granite": 1e-6, "gpt_oss": 1e-5, "bert": 1e-12, "nomic_bert": 1e-5,
}

var (
	graniteReads    = []string{"embedding_multiplier", "residual_multiplier", "attention_multiplier", "logits_scaling"}
	graniteDefaults = map[string]any{"embedding_multiplier": 1.0, "residual_multiplier": 1.0, "attention_multiplier": 1.0, "logits_scaling": 1.0}
	falconH1Reads   = []string{"embedding_multiplier", "key_multiplier", "lm_head_multiplier"}
)

var deepseekDefaults = map[string]any{"scoring_func": "sigmoid", "norm_topk_prob": true}

var gemmaCaps = []string{"attn_logit_softcapping", "final_logit_softcapping"}

var gemmaNorms = map[string]string{"post_attention_layernorm": "post_attention_norm"}

// Published Gemma 3 files rely on these.
var gemma3Defaults = map[string]any{
	"num_attention_heads": int64(8), "num_key_value_heads": int64(4), "head_dim": int64(256),
	"max_position_embeddings": int64(131072), "rms_norm_eps": 1e-6, "rope_theta": 1e6, "rope_local_base_freq": 1e4,
	"query_pre_attn_scalar": int64(256), "sliding_window": int64(4096),
}

func all(fs ...func(*hfConfig, func(string, any))) func(*hfConfig, func(string, any)) {
	return func(c *hfConfig, put func(string, any)) {
		for _, f := range fs {
			f(c, put)
		}
	}
}

func slidingWindow(c *hfConfig, put func(string, any)) {
	if n := c.int("sliding_window", 0); n > 0 {
		put("attention.sliding_window", n)
	}
}

// layerWindows says which layers have the sliding window: as layer_types has it, else all
// but every full-th, or as sliding_window_pattern says.
func layerWindows(full int64) func(*hfConfig, func(string, any)) {
	return func(c *hfConfig, put func(string, any)) {
		slidingWindow(c, put)
		const key = "attention.sliding_window_pattern"
		if types, ok := c.m["layer_types"].([]any); ok {
			slides := make([]bool, len(types))
			for i, v := range types {
				if slides[i] = v == "sliding_attention"; !slides[i] && v != "full_attention" {
					c.refuse("layers of type %v", v)
				}
			}
			put(key, slides)
			return
		}
		switch v := c.m["sliding_window_pattern"].(type) {
		case nil:
			put(key, full)
		case int64:
			put(key, v)
		case string: // EXAONE's: L for a layer with a window, G for one without, again and again
			slides := make([]bool, max(0, min(maxLayers, c.int("num_hidden_layers", 0))))
			for i := range slides {
				if v == "" || strings.Trim(v, "LG") != "" {
					c.fail("sliding_window_pattern is %.100q", v)
					return
				}
				slides[i] = v[i%len(v)] == 'L'
			}
			put(key, slides)
		default:
			c.fail("sliding_window_pattern is %v", v)
		}
	}
}

func cohereScale(c *hfConfig, put func(string, any)) { put("logit_scale", c.m["logit_scale"]) }

// temper says by what queries are multiplied.
func temper(c *hfConfig, put func(string, any)) {
	if v, ok := number(c.rope["llama_4_scaling_beta"]); ok {
		put("attention.temperature_scale", v)
		if original, _ := number(c.rope["original_max_position_embeddings"]); latentArchs[c.arch] && original >= 1 {
			put("attention.temperature_length", int64(original))
		}
	}
}

// routedReads are the keys of hfOff that routedExperts reads.
var routedReads = []string{"n_group", "topk_group", "routed_scaling_factor", "scoring_func"}

// routedExperts says how rows find their experts in the families after DeepSeek.
func routedExperts(c *hfConfig, put func(string, any)) {
	experts(c, put)
	for key, from := range map[string][]string{
		"expert_count":              {"n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts"},
		"expert_used_count":         {"num_experts_per_tok", "moe_k"},
		"expert_shared_count":       {"n_shared_experts", "moe_num_shared_experts"},
		"expert_group_count":        {"n_group"},
		"expert_group_used_count":   {"topk_group"},
		"leading_dense_block_count": {"first_k_dense_replace"},
		"interleave_moe_layer_step": {"moe_layer_interval"},
	} {
		if v := c.first(from...); v != nil {
			put(key, v)
		}
	}
	if v, ok := number(c.m["routed_scaling_factor"]); ok {
		put("expert_weights_scale", v)
	}
	switch f := c.m["scoring_func"]; f {
	case nil:
		if c.arch == "glm4moe" {
			put("expert_gating_func", int64(2))
		}
	case "softmax":
		put("expert_gating_func", int64(1))
	case "sigmoid":
		put("expert_gating_func", int64(2))
	default:
		c.refuse("scoring_func of %v", f)
	}
}

// miniMax has one width for all, and names what is rotated of a head by its own.
func miniMax(c *hfConfig, put func(string, any)) {
	if n := c.int("rotary_dim", 0); n > 0 {
		put("rope.dimension_count", n)
	}
	put("expert_feed_forward_length", c.m["intermediate_size"])
	if b, ok := c.m["use_routing_bias"].(bool); ok && !b {
		c.refuse("use_routing_bias of false in a model of type %s", c.kind)
	}
}

// ernieMoE says which layers have experts.
func ernieMoE(c *hfConfig, put func(string, any)) {
	layers := c.int("num_hidden_layers", 0)
	put("leading_dense_block_count", c.int("moe_layer_start_index", 1))
	if n := c.int("moe_num_shared_experts", 0); n > 0 && n <= maxExperts { // llama.cpp does not take it from their count
		put("expert_shared_feed_forward_length", n*c.int("moe_intermediate_size", 0))
	}
	if end := c.int("moe_layer_end_index", -1); end >= 0 && end != layers-1 {
		c.refuse("moe_layer_end_index of %d in a model of %d layers", end, layers)
	}
}

// sparseMixer is how Phi 3.5 MoE routes.
func sparseMixer(c *hfConfig, put func(string, any)) {
	jitter := 0.01
	if v := c.m["router_jitter_noise"]; v != nil {
		x, ok := number(v)
		if !ok {
			c.fail("router_jitter_noise is %v, want a number", v)
		}
		jitter = x
	}
	put(routerJitter, jitter)
}

// qwenWindow refuses a window on some layers only, which no published model
// of the family turns on.
func qwenWindow(c *hfConfig, _ func(string, any)) {
	types, _ := c.m["layer_types"].([]any)
	if c.flag("use_sliding_window") && (c.int("max_window_layers", 0) < c.int("num_hidden_layers", 0) || slices.Contains(types, "sliding_attention")) {
		c.refuse("a sliding window on some layers of %s", c.kind)
	}
}

// sections says which pairs rotate by which of an image's positions, which text does not
// need but llama.cpp does.
func sections(c *hfConfig, put func(string, any)) {
	list, _ := c.rope["mrope_section"].([]any)
	out := make([]int64, 4)
	for i, v := range list {
		n, ok := v.(int64)
		if !ok || i >= len(out) {
			c.fail("mrope_section is %.100v", list)
			return
		}
		out[i] = n
	}
	put("rope.dimension_sections", out)
}

func noRopeLayers(c *hfConfig, _ func(string, any)) {
	list, _ := c.m["no_rope_layers"].([]any)
	for i, v := range list {
		// A layer is marked 1 where it has rotary positions.
		if n, ok := v.(int64); !ok || (n == 0) != ((i+1)%4 == 0) {
			c.refuse("rotary positions on other than three of four layers")
		}
	}
	if n := c.int("no_rope_layer_interval", 4); n != 4 && list == nil {
		c.refuse("rotary positions left out every %d layers, want 4", n)
	}
	if c.flag("use_sliding_window") {
		c.refuse("a sliding window of %s", c.kind)
	}
}

func experts(c *hfConfig, put func(string, any)) {
	for key, from := range map[string][]string{
		"expert_count":                      {"num_local_experts", "num_experts"},
		"expert_used_count":                 {"num_experts_per_tok"},
		"expert_feed_forward_length":        {"moe_intermediate_size"},
		"expert_shared_feed_forward_length": {"shared_expert_intermediate_size"},
	} {
		if v := c.first(from...); v != nil {
			put(key, v)
		}
	}
	if c.m["norm_topk_prob"] != nil {
		put("expert_weights_norm", c.flag("norm_topk_prob"))
	}
	if list, _ := c.m["mlp_only_layers"].([]any); len(list) > 0 || c.int("decoder_sparse_step", 1) != 1 {
		c.refuse("experts on some layers only")
	}
}

func falcon(c *hfConfig, put func(string, any)) {
	if v, ok := c.m["parallel_attn"].(bool); ok && !v && !c.flag("new_decoder_architecture") {
		c.refuse("a falcon model without parallel attention")
	}
	put("attention.head_count_kv", c.falconKV())
	if c.first("max_position_embeddings", "n_positions") == nil {
		put("context_length", int64(2048))
	}
	// GGUF files take the width of the feed-forward block as given.
	if c.first("ffn_hidden_size") == nil {
		put("feed_forward_length", 4*c.int("hidden_size", c.int("n_embd", 0)))
	}
}

func (c *hfConfig) falconKV() int64 {
	heads := c.int("num_attention_heads", c.int("n_head", 1))
	switch {
	case c.flag("new_decoder_architecture"):
		return c.int("num_kv_heads", c.int("n_head_kv", heads))
	case c.m["multi_query"] == nil || c.flag("multi_query"):
		return 1
	}
	return heads
}

// gemma says where window and full attention alternate; every full-th layer
// has the latter, unless the file says otherwise.
func gemma(full int64) func(*hfConfig, func(string, any)) {
	return func(c *hfConfig, put func(string, any)) {
		layerWindows(full)(c, put)
		for _, k := range gemmaCaps {
			if v := c.m[k]; v != nil {
				put(k, v)
			}
		}
		if q, ok := number(c.m["query_pre_attn_scalar"]); ok && q > 0 {
			put("attention.scale", 1/math.Sqrt(q))
		}
		if full != 2 {
			local := c.m["rope_local_base_freq"]
			if r, ok := c.rope["sliding_attention"].(map[string]any); ok && r["rope_theta"] != nil {
				local = r["rope_theta"]
			}
			put("rope.freq_base_swa", local)
		}
	}
}

func granite(c *hfConfig, put func(string, any)) {
	for key, from := range map[string]string{
		"embedding_scale": "embedding_multiplier", "residual_scale": "residual_multiplier",
		"attention.scale": "attention_multiplier", "logit_scale": "logits_scaling",
	} {
		if v := c.m[from]; v != nil {
			put(key, v)
		}
	}
}

func bidirectional(c *hfConfig, put func(string, any)) {
	put("attention.causal", false)
	if p := c.first("position_embedding_type"); p != nil && p != "absolute" && c.kind != jinaBert {
		c.refuse("position embeddings of type %v", p)
	}
}

// trainedLength cuts the context of nomic-bert, whose config.json has room for
// more positions than the model was trained with, to what it was trained with.
func trainedLength(c *hfConfig, put func(string, any)) {
	trained := c.int("max_trained_positions", 2048)
	if n := c.int("max_position_embeddings", c.int("n_positions", trained)); n > 0 {
		put("context_length", min(n, trained))
	}
}

// glm4Names are the names of SafeTensors files, whose norms are those of before and behind.
var glm4Names = map[string]string{
	"post_self_attn_layernorm": "post_attention_norm", "post_attention_layernorm": "ffn_norm", "post_mlp_layernorm": "post_ffw_norm",
}
