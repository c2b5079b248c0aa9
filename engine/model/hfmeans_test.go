package model_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"quern/engine/model"
	"quern/formats/weights"
)

// What config.json says and quern does not compute is refused by name.
func TestConfigRefused(t *testing.T) {
	for _, tt := range []struct{ kind, more, want string }{
		{"minicpm", `"num_experts":8`, "num_experts of 8"},
		{"minicpm", `"sparse_config":{"kernel_size":32}`, "sparse_config of"},
		{"arcee", `"hidden_act":"silu"`, "hidden_act of silu"},
		{"olmoe", `"clip_qkv":8.0`, "clip_qkv of 8"},
		{"gpt2", `"scale_attn_by_inverse_layer_idx":true`, "scale_attn_by_inverse_layer_idx of true"},
		{"gpt2", `"add_cross_attention":true`, "add_cross_attention of true"},
		{"gpt_bigcode", `"multi_query":false`, "multi_query of false"},
		{"gpt_neox", `"hidden_act":"relu"`, "hidden_act of relu"},
		{"hunyuan_v1_moe", `"moe_topk":[2,3]`, "moe_topk that differs between layers"},
		{"hunyuan_v1_moe", `"use_cla":true`, "use_cla of true"},
		{"dots1", `"layer_types":["sliding_attention"]`, "a sliding window on some layers"},
		{"bailing_moe", `"norm_softmax":true`, "norm_softmax of true"},
		{"apertus", `"post_norm":true`, "post_norm of true"},
		{"gemma3", `"use_bidirectional_attention":true`, "use_bidirectional_attention of true"},
		{"bert", `"position_embedding_type":"alibi","feed_forward_type":"original"`, "feed_forward_type of original"},
		{"modernbert", `"hidden_activation":"relu"`, "hidden_activation of relu"},
		{"nomic_bert", `"architectures":["NomicBertForSequenceClassification"]`, "a classifier of model_type"},
		{"bert", `"position_embedding_type":"relative_key"`, "position embeddings of type relative_key"},
		{"qwen2", `"is_causal":false`, "is_causal of false"},
		{"llama", `"hidden_act":"relu"`, "hidden_act of relu"},
		{"bert", `"hidden_act":"gelu_new"`, "hidden_act of gelu_new"},
		{"bert", `"is_decoder":true`, "is_decoder of true"},
		{"gemma2", `"hidden_activation":"gelu"`, "hidden_activation of gelu"},
		{"falcon", `"activation":"relu"`, "activation of relu"},
		{"falcon", `"alibi":true`, "alibi of true"},
		{"mpt", `"attn_config":{"alibi":false}`, "attn_config.alibi of false"},
		{"mpt", `"attn_config":{"alibi":true,"qk_ln":true}`, "attn_config.qk_ln of true"},
		{"opt", `"do_layer_norm_before":false`, "do_layer_norm_before of false"},
		{"opt", `"word_embed_proj_dim":32`, "word_embed_proj_dim of 32"},
		{"bloom", `"apply_residual_connection_post_layernorm":true`, "apply_residual_connection_post_layernorm of true"},
		{"qwen", `"kv_channels":32`, "kv_channels of 32"},
		{"deepseek", `"moe_layer_freq":2`, "moe_layer_freq of 2"},
		{"afmoe", `"mup_enabled":false`, "mup_enabled of false"},
		{"gemma3n", `"altup_correct_scale":false`, "altup_correct_scale of false"},
		{"nomic_bert", `"rotary_emb_interleaved":true`, "rotary_emb_interleaved of true"},
		{"nomic_bert", `"activation_function":"gelu"`, "activation_function of gelu"},
		{"olmo2", `"sliding_window":4096`, "sliding_window of 4096"},
		{"llama", `"logits_scaling":8`, "logits_scaling of 8"},
		{"llama", `"attn_logit_softcapping":50.0`, "attn_logit_softcapping of 50"},
		{"gemma3_text", `"attn_logit_softcapping":50.0`, "attn_logit_softcapping of 50"},
		{"qwen3_moe", `"scoring_func":"sigmoid"`, "scoring_func of sigmoid"},
		{"qwen3", `"use_sliding_window":true,"max_window_layers":9,"layer_types":["sliding_attention"]`, "sliding window"},
		{"mistral", `"rope_parameters":{"rope_type":"yarn","factor":2.0,"llama_4_scaling_beta":0.1}`, "llama_4_scaling_beta"},
		{"qwen2", `"rope_scaling":{"rope_type":"yarn","factor":2.0,"newest":0.1}`, "newest"},
		{"falcon_h1", `"mamba_rms_norm":true,"mamba_d_conv":4,"mamba_d_state":16,"mamba_n_groups":1,"mamba_n_heads":4`, "mamba_rms_norm"},
		{"jamba", `"mamba_proj_bias":true`, "mamba_proj_bias of true"},
		{"jamba", `"mamba_conv_bias":false`, "mamba_conv_bias of false"},
		{"nemotron_h", `"hybrid_override_pattern":"M-X","conv_kernel":4,"ssm_state_size":16,"n_groups":1,"mamba_num_heads":4,"mamba_head_dim":16`, `layers of type "X"`},
		{"nemotron_h", `"hybrid_override_pattern":"-E","conv_kernel":4,"ssm_state_size":16,"n_groups":1,"mamba_num_heads":4,"mamba_head_dim":16`, "with and without experts"},
		{"glm4", `"hidden_act":"gelu"`, "hidden_act of gelu"},
	} {
		t.Run(tt.kind+" "+tt.more, func(t *testing.T) {
			set := &weights.Set{Source: weights.SafeTensors}
			set.Meta.Set("hf.config", `{"model_type":"`+tt.kind+`","hidden_size":8,"num_hidden_layers":1,"num_attention_heads":1,"max_position_embeddings":8,"intermediate_size":8,`+tt.more+`}`)
			if _, err := model.Translate(set); !errors.Is(err, model.ErrUnsupported) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want it refused for %q", err, tt.want)
			}
		})
	}
}

// published are configurations as models are published with, but for sizes, one
// or more of every model_type quern translates.
var published = []struct{ kind, more string }{
	{"bert", `"max_position_embeddings":512`},
	{"arcee", `"max_position_embeddings":65536,"hidden_act":"relu2","attention_bias":false,"mlp_bias":false,"head_dim":64,"rms_norm_eps":1e-05,"rope_theta":10000.0,"rope_scaling":{"beta_fast":32.0,"beta_slow":1.0,"factor":20.0,"mscale":1.0,"original_max_position_embeddings":4096,"rope_type":"yarn","type":"yarn"}`},
	{"internlm2", `"attn_implementation":"eager","bias":false,"hidden_act":"silu","max_position_embeddings":32768,"num_key_value_heads":1,"pretraining_tp":1,"rms_norm_eps":1e-05,"rope_scaling":{"factor":2.0,"type":"dynamic"},"rope_theta":1000000,"tie_word_embeddings":false`},
	{"internlm3", `"bias":false,"head_dim":64,"hidden_act":"silu","max_position_embeddings":32768,"num_key_value_heads":1,"qkv_bias":false,"rms_norm_eps":1e-05,"rope_scaling":{"factor":6.0,"rope_type":"dynamic"},"rope_theta":50000000`},
	{"minicpm", `"hidden_act":"silu","max_position_embeddings":4096,"rms_norm_eps":1e-05,"rope_scaling":null,"scale_emb":12,"scale_depth":1.4,"dim_model_base":256,"num_key_value_heads":1,"use_cache":true`},
	{"minicpm3", `"attention_bias":false,"hidden_act":"silu","kv_lora_rank":32,"max_position_embeddings":32768,"num_key_value_heads":1,"q_lora_rank":32,"qk_nope_head_dim":32,"qk_rope_head_dim":16,"v_head_dim":64,"rms_norm_eps":1e-05,"rope_scaling":{"type":"longrope","long_factor":[1,1,1,1,1,1,2,2],"short_factor":[1,1,1,1,1,1,2,2],"original_max_position_embeddings":32768},"scale_emb":12,"scale_depth":1.4,"dim_model_base":256`},
	{"exaone", `"activation_function":"silu","attention_dropout":0.0,"embed_dropout":0.0,"head_dim":64,"layer_norm_epsilon":1e-05,"max_position_embeddings":32768,"num_key_value_heads":1,"num_layers":1,"rope_scaling":{"factor":8.0,"high_freq_factor":4.0,"low_freq_factor":1.0,"original_max_position_embeddings":8192,"rope_type":"llama3"},"rope_theta":1000000,"tie_word_embeddings":true`},
	{"nemotron", `"attention_bias":false,"head_dim":64,"hidden_act":"relu2","max_position_embeddings":4096,"mlp_bias":false,"norm_eps":1e-05,"num_key_value_heads":1,"partial_rotary_factor":0.5,"rope_theta":10000`},
	{"stablelm", `"hidden_act":"silu","hidden_dropout":0.0,"layer_norm_eps":1e-05,"max_position_embeddings":4096,"num_key_value_heads":1,"partial_rotary_factor":0.25,"qk_layernorm":false,"rope_theta":10000,"use_parallel_residual":false,"use_qkv_bias":true`},
	{"olmo", `"attention_bias":false,"clip_qkv":8.0,"hidden_act":"silu","max_position_embeddings":4096,"num_key_value_heads":1,"rope_scaling":null,"rope_theta":10000.0`},
	{"apertus", `"attention_bias":false,"hidden_act":"xielu","max_position_embeddings":65536,"mlp_bias":false,"num_key_value_heads":1,"post_norm":false,"qk_norm":true,"rms_norm_eps":1e-05,"rope_scaling":{"factor":8.0,"high_freq_factor":4.0,"low_freq_factor":1.0,"original_max_position_embeddings":8192,"rope_type":"llama3","type":"llama3"},"rope_theta":12000000`},
	{"gpt2", `"activation_function":"gelu_new","attn_pdrop":0.1,"embd_pdrop":0.1,"layer_norm_epsilon":1e-05,"n_ctx":1024,"n_embd":64,"n_head":1,"n_layer":1,"n_positions":1024,"resid_pdrop":0.1,"summary_type":"cls_index","task_specific_params":{"text-generation":{"do_sample":true}}`},
	{"gpt_bigcode", `"activation_function":"gelu_pytorch_tanh","attention_softmax_in_fp32":true,"inference_runner":0,"layer_norm_epsilon":1e-05,"multi_query":true,"n_embd":64,"n_head":1,"n_inner":256,"n_layer":1,"n_positions":8192,"scale_attention_softmax_in_fp32":true,"scale_attn_weights":true`},
	{"gpt_neox", `"hidden_act":"gelu","layer_norm_eps":1e-05,"max_position_embeddings":2048,"rotary_emb_base":10000,"rotary_pct":0.25,"use_parallel_residual":true,"tie_word_embeddings":false`},
	{"olmoe", `"attention_bias":false,"clip_qkv":null,"hidden_act":"silu","max_position_embeddings":4096,"norm_topk_prob":false,"num_experts":4,"num_experts_per_tok":2,"num_key_value_heads":1,"output_router_logits":false,"rope_scaling":null,"rope_theta":10000.0,"router_aux_loss_coef":0.01`},
	{"hunyuan_v1_moe", `"add_classification_head":false,"attention_bias":false,"attention_head_dim":64,"hidden_act":"silu","max_position_embeddings":32768,"mlp_bias":false,"moe_drop_tokens":false,"moe_intermediate_size":[64],"moe_layer_num_skipped":0,"moe_topk":[2],"norm_topk_prob":true,"num_experts":4,"num_key_value_heads":1,"num_shared_expert":[1],"rms_norm_eps":1e-05,"rope_scaling":{"alpha":1000.0,"beta_fast":32,"beta_slow":1,"factor":1.0,"mscale":1.0,"mscale_all_dim":1.0,"type":"dynamic"},"rope_theta":10000.0,"tie_word_embeddings":true,"use_cla":false,"use_mixed_mlp_moe":true,"use_mla":false,"use_qk_norm":true`},
	{"hunyuan", `"hidden_act":"silu","max_position_embeddings":32768,"moe_intermediate_size":[64],"moe_topk":[2],"num_experts":4,"num_key_value_heads":1,"num_shared_expert":[1],"rms_norm_eps":1e-05,"rope_theta":10000.0,"use_cla":false,"use_mixed_mlp_moe":true,"use_qk_norm":true`},
	{"dots1", `"attention_bias":false,"first_k_dense_replace":1,"hidden_act":"silu","max_position_embeddings":32768,"max_window_layers":62,"moe_intermediate_size":64,"moe_layer_freq":1,"n_group":1,"n_routed_experts":4,"n_shared_experts":2,"norm_topk_prob":true,"num_experts_per_tok":2,"num_key_value_heads":1,"rms_norm_eps":1e-05,"rope_theta":10000000,"rope_scaling":null,"routed_scaling_factor":2.5,"scoring_func":"noaux_tc","sliding_window":null,"topk_group":1`},
	{"bailing_moe", `"embedding_dropout":0.0,"first_k_dense_replace":0,"hidden_act":"silu","max_position_embeddings":32768,"moe_intermediate_size":64,"norm_head":false,"norm_softmax":false,"norm_topk_prob":true,"num_experts":4,"num_experts_per_tok":2,"num_key_value_heads":1,"num_shared_experts":2,"output_router_logits":false,"rms_norm_eps":1e-06,"rope_scaling":null,"rope_theta":600000,"use_bias":false,"use_qkv_bias":false`},
	{"bailing_moe_v2", `"first_k_dense_replace":1,"head_dim":64,"hidden_act":"silu","max_position_embeddings":32768,"moe_intermediate_size":64,"moe_router_enable_expert_bias":true,"moe_shared_expert_intermediate_size":64,"n_group":2,"norm_topk_prob":true,"num_experts":4,"num_experts_per_tok":2,"num_key_value_heads":1,"num_nextn_predict_layers":0,"num_shared_experts":1,"partial_rotary_factor":0.5,"rms_norm_eps":1e-06,"rope_theta":600000,"routed_scaling_factor":2.5,"router_dtype":"fp32","score_function":"sigmoid","topk_group":1,"use_bias":false,"use_qk_norm":true,"use_qkv_bias":false,"use_rmsnorm":true`},
	{"bert", `"max_position_embeddings":8192,"position_embedding_type":"alibi","feed_forward_type":"geglu","emb_pooler":"mean","hidden_act":"gelu","attention_probs_dropout_prob":0.0,"layer_norm_eps":1e-12,"type_vocab_size":2`},
	{"jina_bert_v2", `"max_position_embeddings":8192,"position_embedding_type":"alibi","feed_forward_type":"geglu"`},
	{"gemma3_text", `"max_position_embeddings":2048,"hidden_activation":"gelu_pytorch_tanh","use_bidirectional_attention":true,"attn_logit_softcapping":null,"final_logit_softcapping":null,"query_pre_attn_scalar":256,"sliding_window":512,"_sliding_window_pattern":6,"rope_local_base_freq":10000.0,"rope_theta":1000000.0,"rope_scaling":null,"rms_norm_eps":1e-06,"head_dim":64,"num_key_value_heads":1,"layer_types":["sliding_attention"]`},
	{"modernbert", `"max_position_embeddings":8192,"attention_bias":false,"attention_dropout":0.0,"classifier_activation":"gelu","classifier_bias":false,"classifier_pooling":"mean","cls_token_id":50281,"decoder_bias":true,"deterministic_flash_attn":false,"embedding_dropout":0.0,"global_attn_every_n_layers":3,"global_rope_theta":160000.0,"gradient_checkpointing":false,"hidden_activation":"gelu","layer_norm_eps":1e-05,"local_attention":128,"local_rope_theta":10000.0,"mlp_bias":false,"norm_bias":false,"norm_eps":1e-05,"pad_token_id":50283,"position_embedding_type":"absolute","sep_token_id":50282,"tie_word_embeddings":true,"sparse_pred_ignore_index":-100,"sparse_prediction":false`},
	{"modernbert", `"max_position_embeddings":32768,"hidden_activation":"silu","local_attention":128,"layer_types":["full_attention"],"rope_parameters":{"full_attention":{"rope_theta":80000,"rope_type":"default"},"sliding_attention":{"rope_theta":10000,"rope_type":"default"}}`},
	{"xlm-roberta", `"max_position_embeddings":8194,"attention_probs_dropout_prob":0.1,"classifier_dropout":null,"hidden_act":"gelu","layer_norm_eps":1e-05,"output_past":true,"pad_token_id":1,"position_embedding_type":"absolute","type_vocab_size":1`},
	{"roberta", `"max_position_embeddings":514,"hidden_act":"gelu","layer_norm_eps":1e-05,"pad_token_id":1,"type_vocab_size":1`},
	{"camembert", `"max_position_embeddings":514,"hidden_act":"gelu","layer_norm_eps":1e-05,"pad_token_id":1,"type_vocab_size":1`},
	{"gemma3_embedding", `"max_position_embeddings":2048,"head_dim":64,"num_key_value_heads":1`},
	{"gemma3n", `"vision_config":{"model_type":"gemma3n_vision"},"audio_config":{"model_type":"gemma3n_audio"},"text_config":{"model_type":"gemma3n_text","hidden_size":64,"num_hidden_layers":1,"vocab_size":64,"num_attention_heads":8,"intermediate_size":[64],"num_kv_shared_layers":0,"layer_types":["sliding_attention"],"activation_sparsity_pattern":[0.95],"rope_scaling":null}`},
	{"gemma3n_text", `"num_kv_shared_layers":0,"activation_sparsity_pattern":0.5,"rope_parameters":{"full_attention":{"rope_theta":1000000.0,"rope_type":"default"},"sliding_attention":{"rope_theta":10000.0,"rope_type":"default"}}`},
	{"gemma", `"attention_bias":false,"head_dim":64,"hidden_act":"gelu","hidden_activation":null,"max_position_embeddings":8192,"num_key_value_heads":1,"rms_norm_eps":1e-06,"rope_scaling":null,"rope_theta":10000.0`},
	{"bloom", `"apply_residual_connection_post_layernorm":false,"attention_softmax_in_fp32":true,"bias_dropout_fusion":true,"layer_norm_epsilon":1e-05,"masked_softmax_fusion":true,"n_head":1,"n_inner":null,"offset_alibi":100,"pretraining_tp":1,"seq_length":2048,"skip_bias_add":true,"slow_but_exact":false,"unk_token_id":0`},
	{"mpt", `"attn_config":{"alibi":true,"alibi_bias_max":8,"attn_impl":"torch","attn_pdrop":0,"attn_type":"multihead_attention","attn_uses_sequence_id":false,"clip_qkv":null,"prefix_lm":false,"qk_ln":false,"softmax_scale":null},"d_model":64,"expansion_ratio":4,"learned_pos_emb":true,"logit_scale":null,"max_seq_len":2048,"n_heads":1,"n_layers":1,"no_bias":true,"norm_type":"low_precision_layernorm","use_pad_tok_in_ffn":true`},
	{"opt", `"_remove_final_layer_norm":false,"activation_dropout":0.0,"activation_function":"relu","do_layer_norm_before":true,"dropout":0.1,"ffn_dim":64,"layerdrop":0.0,"max_position_embeddings":2048,"pad_token_id":1,"prefix":"</s>","word_embed_proj_dim":64`},
	{"gptj", `"activation_function":"gelu_new","gradient_checkpointing":false,"layer_norm_epsilon":1e-05,"n_inner":null,"n_positions":2048,"rotary":true,"rotary_dim":64,"scale_attn_weights":true,"tie_word_embeddings":false`},
	{"qwen", `"attn_dropout_prob":0.0,"bf16":false,"emb_dropout_prob":0.0,"kv_channels":64,"layer_norm_epsilon":1e-06,"max_position_embeddings":32768,"no_bias":true,"rotary_emb_base":10000,"rotary_pct":1.0,"scale_attn_weights":true,"seq_length":8192,"tie_word_embeddings":false,"use_dynamic_ntk":true,"use_logn_attn":true`},
	{"mimo", `"attention_bias":true,"head_dim":64,"hidden_act":"silu","max_position_embeddings":32768,"max_window_layers":36,"num_key_value_heads":1,"num_nextn_predict_layers":1,"rms_norm_eps":1e-05,"rope_scaling":null,"rope_theta":640000,"sliding_window":32768,"use_sliding_window":false`},
	{"deepseek", `"attention_bias":false,"aux_loss_alpha":0.001,"first_k_dense_replace":1,"hidden_act":"silu","max_position_embeddings":4096,"moe_intermediate_size":64,"moe_layer_freq":1,"n_routed_experts":4,"n_shared_experts":2,"norm_topk_prob":false,"num_experts_per_tok":2,"num_key_value_heads":1,"rms_norm_eps":1e-06,"rope_scaling":null,"rope_theta":10000,"scoring_func":"softmax","seq_aux":true`},
	{"afmoe", `"global_attn_every_n_layers":4,"head_dim":64,"hidden_act":"silu","layer_types":["sliding_attention"],"load_balance_coeff":0.001,"max_position_embeddings":131072,"moe_intermediate_size":64,"mup_enabled":true,"n_group":1,"num_dense_layers":1,"num_expert_groups":1,"num_experts":4,"num_experts_per_tok":2,"num_key_value_heads":1,"num_limited_groups":1,"num_shared_experts":1,"rms_norm_eps":1e-05,"rope_scaling":null,"rope_theta":10000,"route_norm":true,"route_scale":2.826,"score_func":"sigmoid","sliding_window":2048,"topk_group":1`},
	{"exaone_moe", `"first_k_dense_replace":1,"head_dim":64,"hidden_act":"silu","layer_types":["sliding_attention"],"max_position_embeddings":262144,"moe_intermediate_size":64,"n_group":1,"norm_topk_prob":true,"num_experts":4,"num_experts_per_tok":2,"num_key_value_heads":1,"num_nextn_predict_layers":1,"num_shared_experts":1,"rms_norm_eps":1e-05,"rope_parameters":{"rope_theta":1000000,"rope_type":"default"},"routed_scaling_factor":2.5,"scoring_func":"sigmoid","sliding_window":128,"sliding_window_pattern":"LLLG","topk_group":1`},
	{"granite", `"max_position_embeddings":512`},
	{"mistral", `"max_position_embeddings":32768,"hidden_act":"silu","sliding_window":4096,"rms_norm_eps":1e-05,"rope_theta":10000.0`},
	{"mixtral", `"max_position_embeddings":32768,"hidden_act":"silu","sliding_window":null,"rms_norm_eps":1e-05,"rope_theta":1000000.0,"num_experts_per_tok":2,"num_local_experts":8,"output_router_logits":false,"router_aux_loss_coef":0.02`},
	{"smollm3", `"max_position_embeddings":65536,"hidden_act":"silu","rms_norm_eps":1e-06,"rope_theta":5000000.0,"no_rope_layer_interval":4,"no_rope_layers":[1],"use_sliding_window":false,"sliding_window":null,"layer_types":["full_attention"]`},
	{"qwen3", `"max_position_embeddings":40960,"hidden_act":"silu","head_dim":128,"max_window_layers":36,"rms_norm_eps":1e-06,"rope_theta":1000000,"sliding_window":null,"use_sliding_window":false`},
	{"qwen2_moe", `"max_position_embeddings":8192,"hidden_act":"silu","decoder_sparse_step":1,"moe_intermediate_size":64,"shared_expert_intermediate_size":64,"norm_topk_prob":false,"num_experts":4,"num_experts_per_tok":2,"rms_norm_eps":1e-06,"max_window_layers":21,"use_sliding_window":false,"sliding_window":32768`},
	{"phimoe", `"max_position_embeddings":131072,"original_max_position_embeddings":4096,"hidden_act":"silu","num_local_experts":4,"num_experts_per_tok":2,"router_jitter_noise":0.01,"input_jitter_noise":0.01,"lm_head_bias":true,"attention_bias":true,"rms_norm_eps":1e-05,"sliding_window":131072`},
	{"gemma3", `"vision_config":{"model_type":"siglip_vision_model"},"text_config":{"model_type":"gemma3_text","hidden_size":64,"num_hidden_layers":1,"num_attention_heads":8,"intermediate_size":64,"rope_scaling":{"factor":8.0,"rope_type":"linear"},"sliding_window":1024}`},
	{"llama", `"max_position_embeddings":131072,"hidden_act":"silu","attention_bias":false,"mlp_bias":false,"pretraining_tp":1,"rms_norm_eps":1e-05,"rope_theta":500000.0,"rope_scaling":{"factor":32.0,"high_freq_factor":4.0,"low_freq_factor":1.0,"original_max_position_embeddings":8192,"rope_type":"llama3"},"tie_word_embeddings":true`},
	{"qwen2", `"max_position_embeddings":32768,"hidden_act":"silu","max_window_layers":21,"sliding_window":32768,"use_sliding_window":false,"rms_norm_eps":1e-06,"use_mrope":false,"rope_scaling":{"type":"yarn","factor":4.0,"original_max_position_embeddings":32768}`},
	{"qwen3_moe", `"max_position_embeddings":40960,"hidden_act":"silu","decoder_sparse_step":1,"mlp_only_layers":[],"moe_intermediate_size":64,"norm_topk_prob":true,"num_experts":4,"num_experts_per_tok":2,"output_router_logits":false,"router_aux_loss_coef":0.001,"rms_norm_eps":1e-06,"sliding_window":null,"use_sliding_window":false`},
	{"gemma2", `"max_position_embeddings":8192,"hidden_act":"gelu_pytorch_tanh","hidden_activation":"gelu_pytorch_tanh","attn_logit_softcapping":50.0,"final_logit_softcapping":30.0,"cache_implementation":"hybrid","query_pre_attn_scalar":256,"sliding_window":4096,"sliding_window_size":4096,"rms_norm_eps":1e-06`},
	{"gemma3_text", `"max_position_embeddings":32768,"hidden_activation":"gelu_pytorch_tanh","attn_logit_softcapping":null,"final_logit_softcapping":null,"cache_implementation":"hybrid","query_pre_attn_scalar":256,"rope_local_base_freq":10000,"rope_scaling":null,"rope_theta":1000000,"sliding_window":512,"sliding_window_pattern":6,"use_bidirectional_attention":false,"rms_norm_eps":1e-06`},
	{"gemma3_text", `"max_position_embeddings":32768,"hidden_activation":"gelu_pytorch_tanh","rope_parameters":{"full_attention":{"rope_theta":1000000,"rope_type":"default"},"sliding_attention":{"rope_theta":10000,"rope_type":"default"}},"sliding_window":512,"rms_norm_eps":1e-06`},
	{"phi", `"max_position_embeddings":2048,"hidden_act":"gelu_new","layer_norm_eps":1e-05,"partial_rotary_factor":0.5,"qk_layernorm":false,"embd_pdrop":0.0,"resid_pdrop":0.1,"rope_scaling":null`},
	{"phi3", `"max_position_embeddings":4096,"hidden_act":"silu","original_max_position_embeddings":4096,"rope_scaling":null,"sliding_window":2047,"attention_bias":false,"auto_map":{"AutoConfig":"x"},"rms_norm_eps":1e-05`},
	{"falcon", `"alibi":false,"bias":false,"multi_query":true,"new_decoder_architecture":false,"parallel_attn":true,"apply_residual_connection_post_layernorm":false,"layer_norm_epsilon":1e-05`},
	{"granite", `"max_position_embeddings":4096,"hidden_act":"silu","attention_multiplier":0.015625,"embedding_multiplier":12.0,"logits_scaling":8.0,"residual_multiplier":0.22,"attention_bias":false,"rms_norm_eps":1e-05`},
	{"starcoder2", `"max_position_embeddings":16384,"hidden_act":"gelu_pytorch_tanh","norm_type":"layer_norm","mlp_type":"default","norm_epsilon":1e-05,"sliding_window":4096,"use_bias":true,"residual_dropout":0.1`},
	{"bert", `"max_position_embeddings":512,"hidden_act":"gelu","layer_norm_eps":1e-12,"position_embedding_type":"absolute","gradient_checkpointing":false,"type_vocab_size":2,"classifier_dropout":null,"id2label":{"0":"LABEL_0"}`},
	{"nomic_bert", `"n_positions":8192,"max_trained_positions":2048,"activation_function":"swiglu","causal":false,"dense_seq_output":true,"fused_bias_fc":true,"mlp_fc1_bias":false,"parallel_block":false,"parallel_block_tied_norm":false,"prenorm":false,"rotary_emb_base":1000,"rotary_emb_fraction":1.0,"rotary_emb_interleaved":false,"rotary_emb_scale_base":null,"rotary_scaling_factor":null,"scale_attn_weights":true,"scale_attn_by_inverse_layer_idx":false,"use_rms_norm":false,"layer_norm_epsilon":1e-12,"use_flash_attn":true`},
	{"olmo2", `"max_position_embeddings":4096,"hidden_act":"silu","rms_norm_eps":1e-06,"rope_scaling":null,"attention_bias":false`},
	{"olmo3", `"max_position_embeddings":65536,"hidden_act":"silu","rms_norm_eps":1e-06,"attention_bias":false,"sliding_window":4096,"layer_types":["sliding_attention"],"rope_theta":500000,"rope_scaling":{"attention_factor":1.2079441541679836,"beta_fast":32.0,"beta_slow":1.0,"factor":8.0,"original_max_position_embeddings":8192,"rope_type":"yarn"}`},
	{"exaone4", `"max_position_embeddings":131072,"hidden_act":"silu","rms_norm_eps":1e-05,"sliding_window":4096,"sliding_window_pattern":"LLLG","layer_types":["sliding_attention"],"rope_theta":1000000,"rope_scaling":{"factor":16.0,"high_freq_factor":4.0,"low_freq_factor":1.0,"original_max_position_embeddings":8192,"rope_type":"llama3"}`},
	{"seed_oss", `"max_position_embeddings":524288,"hidden_act":"silu","attention_bias":true,"attention_out_bias":false,"head_dim":64,"mlp_bias":false,"residual_dropout":0.1,"rms_norm_eps":1e-06,"rope_scaling":{"rope_type":"default"},"rope_theta":10000000.0`},
	{"ernie4_5", `"max_position_embeddings":131072,"hidden_act":"silu","head_dim":64,"rms_norm_eps":1e-05,"rope_scaling":null,"rope_theta":500000.0,"tie_word_embeddings":true,"use_bias":false`},
	{"cohere", `"max_position_embeddings":8192,"hidden_act":"silu","attention_bias":false,"layer_norm_eps":1e-05,"logit_scale":0.0625,"model_max_length":131072,"rope_theta":8000000.0,"use_qk_norm":false`},
	{"cohere2", `"max_position_embeddings":132096,"hidden_act":"silu","attention_bias":false,"cache_implementation":"hybrid","head_dim":64,"layer_norm_eps":1e-05,"layer_switch":4,"logit_scale":0.25,"order_of_interleaved_layers":"local_attn_first","position_embedding_type":"rope_gptj","rope_scaling":null,"rope_theta":50000,"rotary_pct":1.0,"sliding_window":4096,"sliding_window_pattern":4,"use_embedding_sharing":true,"use_gated_activation":true,"use_parallel_block":true,"use_parallel_embedding":true`},
	{"hunyuan_v1_dense", `"max_position_embeddings":32768,"hidden_act":"silu","attention_bias":false,"head_dim":64,"mlp_bias":false,"rms_norm_eps":1e-05,"rope_scaling":{"alpha":1000.0,"beta_fast":32,"beta_slow":1,"factor":1.0,"mscale":1.0,"mscale_all_dim":1.0,"type":"dynamic"},"rope_theta":10000.0,"use_qk_norm":true,"use_cla":false`},
	{"qwen3_next", `"hidden_act":"silu","attention_bias":false,"head_dim":64,"rms_norm_eps":1e-06,"full_attention_interval":4,"layer_types":["linear_attention"],"linear_conv_kernel_dim":4,"linear_key_head_dim":16,"linear_num_key_heads":2,"linear_num_value_heads":4,"linear_value_head_dim":16,"max_position_embeddings":262144,"partial_rotary_factor":0.25,"rope_theta":10000000,"decoder_sparse_step":1,"mlp_only_layers":[],"moe_intermediate_size":64,"norm_topk_prob":true,"num_experts":4,"num_experts_per_tok":2,"router_aux_loss_coef":0.001,"shared_expert_intermediate_size":64`},
	{"qwen3_5", `"text_config":{"model_type":"qwen3_5_text","hidden_act":"silu","attention_bias":false,"attn_output_gate":true,"head_dim":64,"rms_norm_eps":1e-06,"full_attention_interval":4,"layer_types":["linear_attention"],"linear_conv_kernel_dim":4,"linear_key_head_dim":16,"linear_num_key_heads":2,"linear_num_value_heads":4,"linear_value_head_dim":16,"mamba_ssm_dtype":"float32","max_position_embeddings":262144,"mtp_num_hidden_layers":1,"mtp_use_dedicated_embeddings":false,"rope_parameters":{"mrope_interleaved":true,"mrope_section":[11,11,10],"partial_rotary_factor":0.25,"rope_theta":10000000,"rope_type":"default"},"hidden_size":64,"num_hidden_layers":1,"num_attention_heads":1,"intermediate_size":64,"vocab_size":320},"vision_config":{"depth":27},"image_token_id":1`},
	{"qwen3_5_text", `"hidden_act":"silu","attention_bias":false,"attn_output_gate":true,"head_dim":64,"rms_norm_eps":1e-06,"full_attention_interval":4,"layer_types":["linear_attention"],"linear_conv_kernel_dim":4,"linear_key_head_dim":16,"linear_num_key_heads":2,"linear_num_value_heads":4,"linear_value_head_dim":16,"mamba_ssm_dtype":"float32","max_position_embeddings":262144,"mtp_num_hidden_layers":1,"mtp_use_dedicated_embeddings":false,"rope_parameters":{"mrope_interleaved":true,"mrope_section":[11,11,10],"partial_rotary_factor":0.25,"rope_theta":10000000,"rope_type":"default"}`},
	{"qwen3_5_moe_text", `"hidden_act":"silu","attention_bias":false,"attn_output_gate":true,"head_dim":64,"rms_norm_eps":1e-06,"full_attention_interval":4,"layer_types":["linear_attention"],"linear_conv_kernel_dim":4,"linear_key_head_dim":16,"linear_num_key_heads":2,"linear_num_value_heads":4,"linear_value_head_dim":16,"mamba_ssm_dtype":"float32","max_position_embeddings":262144,"mtp_num_hidden_layers":1,"mtp_use_dedicated_embeddings":false,"rope_parameters":{"mrope_interleaved":true,"mrope_section":[11,11,10],"partial_rotary_factor":0.25,"rope_theta":10000000,"rope_type":"default"},"decoder_sparse_step":1,"mlp_only_layers":[],"moe_intermediate_size":64,"norm_topk_prob":true,"num_experts":4,"num_experts_per_tok":2,"router_aux_loss_coef":0.001,"shared_expert_intermediate_size":64,"hidden_size":64,"num_hidden_layers":1,"num_attention_heads":1,"intermediate_size":64,"vocab_size":320`},
	{"qwen3_5_moe", `"text_config":{"model_type":"qwen3_5_moe_text","hidden_act":"silu","attention_bias":false,"attn_output_gate":true,"head_dim":64,"rms_norm_eps":1e-06,"full_attention_interval":4,"layer_types":["linear_attention"],"linear_conv_kernel_dim":4,"linear_key_head_dim":16,"linear_num_key_heads":2,"linear_num_value_heads":4,"linear_value_head_dim":16,"mamba_ssm_dtype":"float32","max_position_embeddings":262144,"mtp_num_hidden_layers":1,"mtp_use_dedicated_embeddings":false,"rope_parameters":{"mrope_interleaved":true,"mrope_section":[11,11,10],"partial_rotary_factor":0.25,"rope_theta":10000000,"rope_type":"default"},"decoder_sparse_step":1,"mlp_only_layers":[],"moe_intermediate_size":64,"norm_topk_prob":true,"num_experts":4,"num_experts_per_tok":2,"router_aux_loss_coef":0.001,"shared_expert_intermediate_size":64,"hidden_size":64,"num_hidden_layers":1,"num_attention_heads":1,"intermediate_size":64,"vocab_size":320},"vision_config":{"depth":27}`},
	{"falcon_h1", `"hidden_act":"silu","attention_bias":false,"max_position_embeddings":16384,"rms_norm_eps":1e-05,"rope_theta":100000000000.0,"rope_scaling":null,"mamba_chunk_size":256,"mamba_conv_bias":true,"mamba_d_conv":4,"mamba_d_head":16,"mamba_d_state":16,"mamba_expand":2,"mamba_n_groups":1,"mamba_n_heads":4,"mamba_proj_bias":false,"mamba_d_ssm":64,"mamba_norm_before_gate":false,"mamba_rms_norm":false,"mamba_use_mlp":true,"mlp_bias":false,"projectors_bias":false,"attention_in_multiplier":1.0,"attention_out_multiplier":0.9375,"embedding_multiplier":5.65,"key_multiplier":0.39,"lm_head_multiplier":0.0195,"mlp_multipliers":[0.88,0.21],"ssm_in_multiplier":1.25,"ssm_multipliers":[0.35,0.25,0.35,0.5,0.35],"ssm_out_multiplier":0.2357`},
	{"mamba", `"conv_kernel":4,"expand":2,"state_size":16,"layer_norm_epsilon":1e-05,"use_bias":false,"use_conv_bias":true,"residual_in_fp32":true,"rescale_prenorm_residual":false,"hidden_act":"silu","time_step_rank":4,"time_step_floor":0.0001,"time_step_init_scheme":"random","time_step_max":0.1,"time_step_min":0.001,"time_step_scale":1.0`},
	{"falcon_mamba", `"conv_kernel":4,"expand":2,"state_size":16,"layer_norm_epsilon":1e-05,"use_bias":false,"use_conv_bias":true,"residual_in_fp32":true,"rescale_prenorm_residual":false,"hidden_act":"silu","time_step_rank":4,"mixer_rms_eps":1e-06,"layer_norm_epsilon":1e-06`},
	{"mamba2", `"conv_kernel":4,"expand":2,"state_size":16,"layer_norm_epsilon":1e-05,"use_bias":false,"use_conv_bias":true,"residual_in_fp32":true,"rescale_prenorm_residual":false,"hidden_act":"silu","num_heads":8,"head_dim":16,"n_groups":1,"chunk_size":256,"norm_before_gate":true,"rms_norm":true,"time_step_limit":[0.0,1e30]`},
	{"nemotron_h", `"max_position_embeddings":8192,"attention_bias":false,"conv_kernel":4,"expand":2,"head_dim":64,"hybrid_override_pattern":"M","layer_norm_epsilon":1e-05,"mamba_head_dim":16,"mamba_hidden_act":"silu","mamba_num_heads":4,"mamba_proj_bias":false,"mlp_bias":false,"mlp_hidden_act":"relu2","n_groups":2,"num_key_value_heads":1,"ssm_state_size":16,"use_bias":false,"use_conv_bias":true`},
	{"granitemoehybrid", `"hidden_act":"silu","max_position_embeddings":131072,"rms_norm_eps":1e-05,"attention_bias":false,"attention_multiplier":0.0078125,"embedding_multiplier":12,"layer_types":["mamba"],"logits_scaling":8,"residual_multiplier":0.22,"mamba_chunk_size":256,"mamba_conv_bias":true,"mamba_d_conv":4,"mamba_d_head":16,"mamba_d_state":16,"mamba_expand":2,"mamba_n_groups":1,"mamba_n_heads":4,"mamba_proj_bias":false,"num_experts_per_tok":2,"num_local_experts":4,"num_key_value_heads":1,"position_embedding_type":"nope","rope_scaling":null,"rope_theta":10000,"router_aux_loss_coef":0.0,"shared_intermediate_size":64,"normalization_function":"rmsnorm"`},
	{"lfm2", `"max_position_embeddings":128000,"block_auto_adjust_ff_dim":true,"block_dim":64,"block_ff_dim":96,"block_ffn_dim_multiplier":1.0,"block_mlp_init_scale":1.0,"block_multiple_of":32,"block_norm_eps":1e-05,"block_use_swiglu":true,"conv_L_cache":3,"conv_bias":false,"conv_dim":64,"layer_types":["conv"],"norm_eps":1e-05,"num_key_value_heads":1,"rope_theta":1000000.0`},
	{"lfm2_moe", `"max_position_embeddings":128000,"conv_L_cache":3,"conv_bias":false,"layer_types":["conv"],"moe_intermediate_size":64,"norm_eps":1e-05,"norm_topk_prob":true,"num_dense_layers":1,"num_experts":4,"num_experts_per_tok":2,"num_key_value_heads":1,"rope_theta":1000000.0,"routed_scaling_factor":1.0,"use_expert_bias":true`},
	{"deepseek_v2", `"max_position_embeddings":163840,"hidden_act":"silu","attention_bias":false,"kv_lora_rank":32,"q_lora_rank":32,"qk_nope_head_dim":16,"qk_rope_head_dim":8,"v_head_dim":16,"moe_intermediate_size":64,"moe_layer_freq":1,"n_routed_experts":4,"n_shared_experts":1,"num_experts_per_tok":2,"first_k_dense_replace":1,"rms_norm_eps":1e-06,"rope_theta":10000,"ep_size":1,"pretraining_tp":1,"aux_loss_alpha":0.001,"seq_aux":true,"n_group":1,"topk_group":1,"topk_method":"greedy","norm_topk_prob":false,"routed_scaling_factor":1.0,"scoring_func":"softmax","rope_scaling":{"beta_fast":32,"beta_slow":1,"factor":40,"mscale":0.707,"mscale_all_dim":0.707,"original_max_position_embeddings":4096,"type":"yarn"}`},
	{"deepseek_v3", `"max_position_embeddings":163840,"hidden_act":"silu","attention_bias":false,"kv_lora_rank":32,"q_lora_rank":32,"qk_nope_head_dim":16,"qk_rope_head_dim":8,"v_head_dim":16,"moe_intermediate_size":64,"moe_layer_freq":1,"n_routed_experts":4,"n_shared_experts":1,"num_experts_per_tok":2,"first_k_dense_replace":1,"rms_norm_eps":1e-06,"rope_theta":10000,"ep_size":1,"pretraining_tp":1,"aux_loss_alpha":0.001,"seq_aux":true,"n_group":2,"topk_group":1,"topk_method":"noaux_tc","norm_topk_prob":true,"routed_scaling_factor":2.5,"scoring_func":"sigmoid","num_nextn_predict_layers":1,"rope_scaling":{"beta_fast":32,"beta_slow":1,"factor":40,"mscale":1.0,"mscale_all_dim":1.0,"original_max_position_embeddings":4096,"type":"yarn"}`},
	{"kimi_k2", `"max_position_embeddings":131072,"hidden_act":"silu","attention_bias":false,"kv_lora_rank":32,"q_lora_rank":32,"qk_nope_head_dim":16,"qk_rope_head_dim":8,"v_head_dim":16,"moe_intermediate_size":64,"moe_layer_freq":1,"n_routed_experts":4,"n_shared_experts":1,"num_experts_per_tok":2,"first_k_dense_replace":1,"rms_norm_eps":1e-06,"rope_theta":10000,"ep_size":1,"pretraining_tp":1,"aux_loss_alpha":0.001,"seq_aux":true,"n_group":1,"topk_group":1,"topk_method":"noaux_tc","norm_topk_prob":true,"routed_scaling_factor":2.827,"scoring_func":"sigmoid","num_nextn_predict_layers":0,"rope_scaling":{"beta_fast":32,"beta_slow":1,"factor":40,"mscale":1.0,"mscale_all_dim":1.0,"original_max_position_embeddings":4096,"type":"yarn"}`},
	{"glm4_moe_lite", `"max_position_embeddings":202752,"hidden_act":"silu","attention_bias":false,"kv_lora_rank":32,"q_lora_rank":32,"qk_nope_head_dim":16,"qk_rope_head_dim":8,"v_head_dim":16,"moe_intermediate_size":64,"moe_layer_freq":1,"n_routed_experts":4,"n_shared_experts":1,"num_experts_per_tok":2,"first_k_dense_replace":1,"rms_norm_eps":1e-06,"rope_theta":10000,"ep_size":1,"pretraining_tp":1,"aux_loss_alpha":0.001,"seq_aux":true,"n_group":1,"topk_group":1,"topk_method":"noaux_tc","norm_topk_prob":true,"routed_scaling_factor":1.8,"num_nextn_predict_layers":1,"partial_rotary_factor":1.0,"rope_scaling":null`},
	{"mistral4", `"max_position_embeddings":1048576,"hidden_act":"silu","attention_bias":false,"kv_lora_rank":32,"q_lora_rank":32,"qk_nope_head_dim":16,"qk_rope_head_dim":8,"v_head_dim":16,"moe_intermediate_size":64,"moe_layer_freq":1,"n_routed_experts":4,"n_shared_experts":1,"num_experts_per_tok":2,"first_k_dense_replace":1,"rms_norm_eps":1e-06,"rope_theta":10000,"ep_size":1,"pretraining_tp":1,"aux_loss_alpha":0.001,"seq_aux":true,"n_group":1,"topk_group":1,"norm_topk_prob":true,"routed_scaling_factor":1.0,"rope_interleave":true,"rope_parameters":{"beta_fast":32.0,"beta_slow":1.0,"factor":128.0,"llama_4_scaling_beta":0.1,"mscale":1.0,"mscale_all_dim":1.0,"original_max_position_embeddings":8192,"rope_theta":10000.0,"rope_type":"yarn","type":"yarn"}`},
	{"ministral3", `"max_position_embeddings":262144,"hidden_act":"silu","head_dim":64,"rms_norm_eps":1e-05,"rope_parameters":{"beta_fast":32.0,"beta_slow":1.0,"factor":16.0,"llama_4_scaling_beta":0.1,"mscale":1.0,"mscale_all_dim":1.0,"original_max_position_embeddings":16384,"rope_theta":1000000.0,"rope_type":"yarn","type":"yarn"},"sliding_window":null,"use_cache":true`},
	{"llama4", `"text_config":{"model_type":"llama4_text","max_position_embeddings":10485760,"hidden_act":"silu","head_dim":64,"attention_bias":false,"attention_chunk_size":8192,"attn_scale":0.1,"attn_temperature_tuning":4,"floor_scale":8192,"for_llm_compression":false,"interleave_moe_layer_step":1,"intermediate_size_mlp":64,"no_rope_layers":[],"num_experts_per_tok":1,"num_key_value_heads":1,"num_local_experts":4,"output_router_logits":false,"rms_norm_eps":1e-05,"rope_scaling":{"factor":8.0,"high_freq_factor":4.0,"low_freq_factor":1.0,"original_max_position_embeddings":8192,"rope_type":"llama3"},"rope_theta":500000.0,"router_aux_loss_coef":0.001,"router_jitter_noise":0.0,"use_qk_norm":true,"hidden_size":64,"num_hidden_layers":1,"num_attention_heads":1,"intermediate_size":64,"vocab_size":320}`},
	{"llama4_text", `"max_position_embeddings":10485760,"hidden_act":"silu","head_dim":64,"attention_bias":false,"attention_chunk_size":8192,"attn_scale":0.1,"attn_temperature_tuning":4,"floor_scale":8192,"for_llm_compression":false,"interleave_moe_layer_step":1,"intermediate_size_mlp":64,"no_rope_layers":[],"num_experts_per_tok":1,"num_key_value_heads":1,"num_local_experts":4,"output_router_logits":false,"rms_norm_eps":1e-05,"rope_scaling":{"factor":8.0,"high_freq_factor":4.0,"low_freq_factor":1.0,"original_max_position_embeddings":8192,"rope_type":"llama3"},"rope_theta":500000.0,"router_aux_loss_coef":0.001,"router_jitter_noise":0.0,"use_qk_norm":true`},
	{"granitemoe", `"max_position_embeddings":131072,"hidden_act":"silu","attention_bias":false,"attention_multiplier":0.015625,"embedding_multiplier":12.0,"logits_scaling":6.0,"residual_multiplier":0.22,"num_experts_per_tok":2,"num_key_value_heads":1,"num_local_experts":4,"output_router_logits":false,"rms_norm_eps":1e-06,"rope_scaling":null,"rope_theta":10000000.0,"router_aux_loss_coef":0.0,"tie_word_embeddings":true`},
	{"granitemoeshared", `"max_position_embeddings":131072,"hidden_act":"silu","attention_multiplier":0.015625,"embedding_multiplier":12.0,"logits_scaling":6.0,"residual_multiplier":0.22,"num_experts_per_tok":2,"num_key_value_heads":1,"num_local_experts":4,"rms_norm_eps":1e-06,"shared_intermediate_size":64,"tie_word_embeddings":true`},
	{"granitemoehybrid", `"max_position_embeddings":131072,"hidden_act":"silu","attention_multiplier":0.015625,"embedding_multiplier":12,"layer_types":["attention"],"logits_scaling":8,"mamba_conv_bias":true,"mamba_d_conv":4,"mamba_d_head":64,"mamba_d_state":128,"mamba_expand":2,"mamba_n_groups":1,"mamba_n_heads":128,"mamba_proj_bias":false,"num_experts_per_tok":0,"num_local_experts":0,"position_embedding_type":"rope","residual_multiplier":0.22,"rms_norm_eps":1e-05,"rope_theta":10000000,"shared_intermediate_size":64,"tie_word_embeddings":true`},
	{"glm", `"max_position_embeddings":131072,"hidden_act":"silu","attention_bias":true,"head_dim":64,"num_key_value_heads":1,"rms_norm_eps":1.5625e-07,"rope_theta":10000.0,"partial_rotary_factor":0.5,"tie_word_embeddings":false`},
	{"glm4", `"max_position_embeddings":32768,"hidden_act":"silu","attention_bias":true,"head_dim":64,"num_key_value_heads":1,"partial_rotary_factor":0.5,"rms_norm_eps":1e-05,"rope_theta":10000.0,"tie_word_embeddings":false`},
	{"jamba", `"max_position_embeddings":262144,"attn_layer_offset":4,"attn_layer_period":8,"expert_layer_offset":1,"expert_layer_period":2,"hidden_act":"silu","mamba_conv_bias":true,"mamba_d_conv":4,"mamba_d_state":16,"mamba_dt_rank":256,"mamba_expand":2,"mamba_proj_bias":false,"num_experts":16,"num_experts_per_tok":2,"num_key_value_heads":1,"num_logits_to_keep":1,"output_router_logits":false,"rms_norm_eps":1e-06,"router_aux_loss_coef":0.001,"sliding_window":null,"tie_word_embeddings":false,"use_mamba_kernels":true`},
	{"nemotron_h", `"max_position_embeddings":262144,"attention_bias":false,"chunk_size":128,"conv_kernel":4,"expand":2,"head_dim":64,"hybrid_override_pattern":"E","layer_norm_epsilon":1e-05,"mamba_head_dim":64,"mamba_hidden_act":"silu","mamba_num_heads":64,"mamba_proj_bias":false,"mamba_ssm_cache_dtype":"float32","mlp_bias":false,"mlp_hidden_act":"relu2","moe_intermediate_size":64,"moe_shared_expert_intermediate_size":128,"n_group":1,"n_groups":8,"n_routed_experts":4,"n_shared_experts":1,"norm_eps":1e-05,"norm_topk_prob":true,"num_experts_per_tok":2,"num_key_value_heads":2,"num_query_groups":2,"partial_rotary_factor":1.0,"rescale_prenorm_residual":true,"residual_in_fp32":false,"rope_theta":10000,"routed_scaling_factor":2.5,"sliding_window":null,"ssm_state_size":128,"time_step_floor":0.0001,"topk_group":1,"use_bias":false,"use_conv_bias":true`},
	{"qwen3_vl_moe", `"text_config":{"model_type":"qwen3_vl_moe_text","max_position_embeddings":262144,"hidden_act":"silu","attention_bias":false,"decoder_sparse_step":1,"head_dim":64,"mlp_only_layers":[],"moe_intermediate_size":64,"norm_topk_prob":true,"num_experts":4,"num_experts_per_tok":2,"rms_norm_eps":1e-06,"rope_theta":5000000,"rope_scaling":{"mrope_interleaved":true,"mrope_section":[24,20,20],"rope_type":"default"},"hidden_size":64,"num_hidden_layers":1,"num_attention_heads":1,"intermediate_size":64,"vocab_size":320},"vision_config":{"depth":27}`},
	{"glm4_moe", `"max_position_embeddings":131072,"hidden_act":"silu","attention_bias":true,"head_dim":64,"first_k_dense_replace":1,"moe_intermediate_size":64,"n_group":1,"n_routed_experts":4,"n_shared_experts":1,"norm_topk_prob":true,"num_experts_per_tok":2,"num_nextn_predict_layers":1,"partial_rotary_factor":0.5,"rms_norm_eps":1e-05,"rope_scaling":null,"rope_theta":1000000,"routed_scaling_factor":1.0,"topk_group":1,"use_qk_norm":true`},
	{"minimax_m2", `"max_position_embeddings":196608,"hidden_act":"silu","attn_type_list":[1],"head_dim":64,"mtp_transformer_layers":1,"num_experts_per_tok":2,"num_local_experts":4,"num_mtp_modules":3,"qk_norm_type":"per_layer","rms_norm_eps":1e-06,"rope_theta":5000000,"rotary_dim":64,"scoring_func":"sigmoid","shared_intermediate_size":0,"use_mtp":true,"use_qk_norm":true,"use_routing_bias":true`},
	{"ernie4_5_moe", `"max_position_embeddings":131072,"hidden_act":"silu","moe_capacity":[64,64,64],"moe_intermediate_size":64,"moe_k":2,"moe_layer_interval":1,"moe_layer_start_index":1,"moe_num_experts":4,"moe_num_shared_experts":2,"moe_use_aux_free":true,"rms_norm_eps":1e-05,"rope_theta":500000.0,"tie_word_embeddings":true,"use_bias":false`},
	{"qwen2_vl", `"max_position_embeddings":32768,"hidden_act":"silu","max_window_layers":28,"rms_norm_eps":1e-06,"rope_theta":1000000.0,"sliding_window":32768,"use_sliding_window":false,"rope_scaling":{"type":"mrope","mrope_section":[16,24,24]},"vision_config":{"depth":32}`},
	{"qwen2_5_vl", `"max_position_embeddings":128000,"hidden_act":"silu","max_window_layers":28,"rms_norm_eps":1e-06,"rope_theta":1000000.0,"sliding_window":32768,"use_sliding_window":false,"rope_scaling":{"type":"mrope","mrope_section":[16,24,24]},"vision_config":{"depth":32}`},
	{"qwen3_vl", `"text_config":{"model_type":"qwen3_vl_text","max_position_embeddings":262144,"hidden_act":"silu","attention_bias":false,"head_dim":64,"rms_norm_eps":1e-06,"rope_theta":5000000,"rope_scaling":{"mrope_interleaved":true,"mrope_section":[24,20,20],"rope_type":"default"},"hidden_size":64,"num_hidden_layers":1,"num_attention_heads":1,"intermediate_size":64,"vocab_size":320},"vision_config":{"depth":27}`},
	{"gemma4", `"text_config":{"model_type":"gemma4_text","max_position_embeddings":131072,"hidden_activation":"gelu_pytorch_tanh","attention_bias":false,"attention_k_eq_v":true,"enable_moe_block":true,"expert_intermediate_size":64,"final_logit_softcapping":30.0,"global_head_dim":64,"head_dim":32,"hidden_size_per_layer_input":0,"layer_types":["full_attention"],"moe_intermediate_size":64,"num_experts":4,"num_global_key_value_heads":1,"num_kv_shared_layers":0,"rms_norm_eps":1e-06,"rope_parameters":{"full_attention":{"partial_rotary_factor":0.25,"rope_theta":1000000.0,"rope_type":"proportional"},"sliding_attention":{"rope_theta":10000.0,"rope_type":"default"}},"sliding_window":1024,"tie_word_embeddings":true,"top_k_experts":2,"use_bidirectional_attention":"vision","use_double_wide_mlp":false,"vocab_size_per_layer_input":320,"hidden_size":64,"num_hidden_layers":1,"num_attention_heads":1,"intermediate_size":64,"vocab_size":320},"vision_config":{"hidden_size":768}`},
	{"gemma4_text", `"max_position_embeddings":131072,"hidden_activation":"gelu_pytorch_tanh","attention_bias":false,"attention_k_eq_v":true,"enable_moe_block":true,"expert_intermediate_size":64,"final_logit_softcapping":30.0,"global_head_dim":64,"head_dim":32,"hidden_size_per_layer_input":0,"layer_types":["full_attention"],"moe_intermediate_size":64,"num_experts":4,"num_global_key_value_heads":1,"num_kv_shared_layers":0,"rms_norm_eps":1e-06,"rope_parameters":{"full_attention":{"partial_rotary_factor":0.25,"rope_theta":1000000.0,"rope_type":"proportional"},"sliding_attention":{"rope_theta":10000.0,"rope_type":"default"}},"sliding_window":1024,"tie_word_embeddings":true,"top_k_experts":2,"use_bidirectional_attention":"vision","use_double_wide_mlp":false,"vocab_size_per_layer_input":320`},
	{"gemma4_unified", `"text_config":{"model_type":"gemma4_unified_text","max_position_embeddings":131072,"hidden_activation":"gelu_pytorch_tanh","attention_bias":false,"attention_k_eq_v":true,"enable_moe_block":true,"expert_intermediate_size":64,"final_logit_softcapping":30.0,"global_head_dim":64,"head_dim":32,"hidden_size_per_layer_input":0,"layer_types":["full_attention"],"moe_intermediate_size":64,"num_experts":4,"num_global_key_value_heads":1,"num_kv_shared_layers":0,"rms_norm_eps":1e-06,"rope_parameters":{"full_attention":{"partial_rotary_factor":0.25,"rope_theta":1000000.0,"rope_type":"proportional"},"sliding_attention":{"rope_theta":10000.0,"rope_type":"default"}},"sliding_window":1024,"tie_word_embeddings":true,"top_k_experts":2,"use_bidirectional_attention":"vision","use_double_wide_mlp":false,"vocab_size_per_layer_input":320,"hidden_size":64,"num_hidden_layers":1,"num_attention_heads":1,"intermediate_size":64,"vocab_size":320},"audio_config":{"audio_embed_dim":640}`},
	{"gemma4_unified_text", `"max_position_embeddings":131072,"hidden_activation":"gelu_pytorch_tanh","attention_bias":false,"attention_k_eq_v":true,"enable_moe_block":true,"expert_intermediate_size":64,"final_logit_softcapping":30.0,"global_head_dim":64,"head_dim":32,"hidden_size_per_layer_input":0,"layer_types":["full_attention"],"moe_intermediate_size":64,"num_experts":4,"num_global_key_value_heads":1,"num_kv_shared_layers":0,"rms_norm_eps":1e-06,"rope_parameters":{"full_attention":{"partial_rotary_factor":0.25,"rope_theta":1000000.0,"rope_type":"proportional"},"sliding_attention":{"rope_theta":10000.0,"rope_type":"default"}},"sliding_window":1024,"tie_word_embeddings":true,"top_k_experts":2,"use_bidirectional_attention":"vision","use_double_wide_mlp":false,"vocab_size_per_layer_input":320`},
	{"rwkv7", `"attn":null,"attn_mode":"chunk","a_low_rank_dim":16,"decay_low_rank_dim":16,"gate_low_rank_dim":16,"v_low_rank_dim":8,"head_dim":64,"num_heads":1,"hidden_act":"sqrelu","hidden_ratio":4.0,"fuse_cross_entropy":true,"fuse_norm":false,"max_position_embeddings":2048,"norm_bias":true,"norm_eps":1e-05,"norm_first":true,"value_dim":[64]`},
	{"gpt_oss", `"max_position_embeddings":131072,"hidden_act":"silu","experts_per_token":2,"num_experts_per_tok":2,"num_local_experts":4,"initial_context_length":4096,"layer_types":["sliding_attention"],"rms_norm_eps":1e-05,"sliding_window":128,"swiglu_limit":7.0,"rope_scaling":{"beta_fast":32.0,"beta_slow":1.0,"factor":32.0,"original_max_position_embeddings":4096,"rope_type":"yarn","truncate":false}`},
}

const publishedSizes = `"hidden_size":64,"num_hidden_layers":1,"num_attention_heads":1,"intermediate_size":64,"vocab_size":320,"torch_dtype":"bfloat16","transformers_version":"4.45.0","use_cache":true,"initializer_range":0.02,"bos_token_id":1,"eos_token_id":[1,2],"attention_dropout":0.0,`

// A PyTorch checkpoint does not say what its names mean, and whisper.cpp's files hold
// other models: they are neither run nor converted.
func TestContainersRefused(t *testing.T) {
	for source, want := range map[weights.Source]string{weights.Torch: "PyTorch checkpoint", weights.GGML: "whisper.cpp's"} {
		set := &weights.Set{Source: source}
		_, open := model.Open(set)
		_, convert := model.ToGGUF(set)
		for _, err := range []error{open, convert} {
			if !errors.Is(err, model.ErrUnsupported) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
	}
}

// The keys that published models have are taken.
func TestConfigAccepted(t *testing.T) {
	for _, tt := range published {
		t.Run(tt.kind, func(t *testing.T) { translatePublished(t, tt.kind, tt.more) })
	}
}

func translatePublished(t *testing.T, kind, more string) *weights.Set {
	t.Helper()
	set := &weights.Set{Source: weights.SafeTensors}
	set.Meta.Set("hf.config", `{"model_type":"`+kind+`",`+publishedSizes+more+`}`)
	set, err := model.Translate(set)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// Every file that quern converts has the keys without which llama.cpp's loader
// does not load a model of its architecture, of the types it wants.
func TestConvertedHasRequiredKeys(t *testing.T) {
	const rms, layer = "attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon"
	every := []string{"context_length", "embedding_length", "block_count", "feed_forward_length", "attention.head_count"}
	ssm := []string{"ssm.group_count", "ssm.conv_kernel", "ssm.inner_size", "ssm.state_size", "ssm.time_step_rank"}
	required := map[string][]string{ // llama.cpp v0.5.0, by architecture
		"gemma": {rms}, "bloom": {layer}, "mpt": {layer}, "opt": {layer}, "gptj": {layer}, "qwen": {rms}, "deepseek": {rms, "expert_count", "expert_used_count", "expert_feed_forward_length", "expert_shared_count", "leading_dense_block_count"},
		"afmoe":      {rms, "expert_count", "expert_used_count", "expert_feed_forward_length", "attention.sliding_window"},
		"exaone-moe": {rms, "expert_count", "expert_used_count", "expert_feed_forward_length", "expert_gating_func", "attention.sliding_window"},
		"apertus":    {rms}, "arcee": {rms}, "exaone": {rms}, "internlm2": {rms}, "minicpm": {rms}, "minicpm3": {rms, "attention.q_lora_rank", "attention.kv_lora_rank"}, "nemotron": {layer}, "stablelm": {layer}, "olmo": {layer},
		"gpt2": {layer}, "gptneox": {layer}, "starcoder": {layer}, "olmoe": {rms, "expert_count", "expert_used_count"},
		"hunyuan-moe": {rms, "expert_count", "expert_used_count", "expert_feed_forward_length"},
		"dots1":       {rms, "expert_count", "expert_used_count", "expert_feed_forward_length", "expert_shared_count"},
		"bailingmoe":  {rms, "expert_count", "expert_used_count", "expert_feed_forward_length", "expert_shared_count"},
		"bailingmoe2": {rms, "expert_count", "expert_used_count", "expert_feed_forward_length", "expert_shared_count", "expert_gating_func"},
		"cohere2":     {layer, "logit_scale", "attention.sliding_window"}, "command-r": {layer, "logit_scale"}, "ernie4_5": {rms}, "exaone4": {rms},
		"falcon-h1": append(ssm, rms), "granitehybrid": append(ssm, rms, "logit_scale"), "nemotron_h": append(ssm, rms, layer),
		"mamba": append(ssm[1:], rms), "mamba2": append(ssm, rms), "qwen35": append(ssm, rms, "rope.dimension_count"), "qwen35moe": append(ssm, rms, "expert_count", "expert_used_count"), "qwen3next": append(ssm, rms, "expert_count", "expert_used_count"),
		"lfm2": {rms, "shortconv.l_cache"}, "lfm2moe": {rms, "shortconv.l_cache", "expert_count", "expert_used_count", "leading_dense_block_count"},
		"deepseek2": {rms, "attention.kv_lora_rank", "leading_dense_block_count"}, "mistral4": {rms, "attention.kv_lora_rank"},
		"llama4": {rms, "expert_count", "expert_used_count", "expert_feed_forward_length", "interleave_moe_layer_step"}, "mistral3": {rms},
		"ernie4_5-moe": {rms, "expert_shared_feed_forward_length", "expert_count", "expert_used_count", "expert_feed_forward_length", "interleave_moe_layer_step", "leading_dense_block_count"},
		"glm4moe":      {rms, "expert_count", "expert_used_count", "expert_feed_forward_length", "leading_dense_block_count"}, "minimax-m2": {rms, "expert_count", "expert_used_count", "expert_feed_forward_length"},
		"chatglm": {rms}, "glm4": {rms}, "granitemoe": {rms, "expert_count", "expert_used_count", "logit_scale"}, "jamba": append(ssm[1:], rms, "expert_count", "expert_used_count"), "qwen3vlmoe": {rms, "expert_count", "expert_used_count", "rope.dimension_sections"},
		"nemotron_h_moe": append(ssm, rms, layer, "expert_count", "expert_used_count", "expert_feed_forward_length", "expert_shared_feed_forward_length"),
		"hunyuan-dense":  {rms}, "qwen2vl": {rms}, "qwen3vl": {rms}, "seed_oss": {rms},
		"bert": {layer}, "falcon": {layer}, "gemma2": {rms}, "gemma3": {rms}, "gemma3n": {rms, "attention.sliding_window", "altup.num_inputs", "embedding_length_per_layer_input"}, "gemma4": {rms, "attention.sliding_window", "attention.key_length_swa", "embedding_length_per_layer_input"}, "gemma-embedding": {rms, "attention.sliding_window"}, "jina-bert-v2": {layer}, "modern-bert": {layer},
		"gpt-oss": {rms, "expert_feed_forward_length", "attention.sliding_window", "expert_count", "expert_used_count"},
		"granite": {rms, "logit_scale"}, "llama": {rms}, "nomic-bert": {layer}, "olmo2": {rms},
		"phi2": {layer}, "phi3": {rms}, "phimoe": {rms, "expert_count", "expert_used_count"},
		"rwkv7": {layer, "wkv.head_size", "attention.decay_lora_rank", "attention.iclr_lora_rank", "attention.value_residual_mix_lora_rank"},
		"qwen2": {rms}, "qwen2moe": {rms, "expert_count", "expert_used_count"},
		"qwen3": {rms}, "qwen3moe": {rms, "expert_count", "expert_used_count"}, "smollm3": {rms}, "starcoder2": {layer},
	}
	seen := make(map[string]bool)
	kinds := make(map[string]bool)
	for _, tt := range published {
		kinds[tt.kind] = true
		t.Run(tt.kind, func(t *testing.T) {
			meta := model.GGUFMeta(&translatePublished(t, tt.kind, tt.more).Meta)
			arch := meta.String("general.architecture")
			seen[arch] = true
			for _, key := range append(every, required[arch]...) {
				v, ok := meta.Lookup(arch + "." + key)
				if !ok {
					t.Errorf("%s.%s is missing", arch, key)
				}
				switch v.(type) {
				case int64:
					if strings.HasSuffix(key, "epsilon") || key == "logit_scale" {
						t.Errorf("%s.%s is an integer, want a float", arch, key)
					}
				case float64:
					if !strings.HasSuffix(key, "epsilon") && key != "logit_scale" {
						t.Errorf("%s.%s is a float, want an integer", arch, key)
					}
				case []int64: // by layer
				default:
					t.Errorf("%s.%s is %v", arch, key, v)
				}
			}
		})
	}
	for _, arch := range model.Known() {
		if !seen[arch] || required[arch] == nil {
			t.Errorf("no file of %s is converted here", arch)
		}
	}
	set := &weights.Set{Source: weights.SafeTensors}
	set.Meta.Set("hf.config", `{"model_type":"none"}`)
	_, err := model.Translate(set)
	_, list, _ := strings.Cut(fmt.Sprint(err), "quern knows ")
	for _, kind := range strings.Split(list, ", ") {
		if !kinds[kind] {
			t.Errorf("no file of model_type %q is converted here", kind)
		}
	}
}
