package model_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"quern/engine/graph"
	"quern/engine/model"
	"quern/formats/gguf"
	"quern/formats/safetensors"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// FuzzOpen spoils one metadata value of a small file: Open and recording must
// fail with one of the two sentinels or succeed, and may not allocate by what
// the value says.
func FuzzOpen(f *testing.F) {
	files, err := filepath.Glob("testdata/*.gguf")
	families, _ := filepath.Glob("testdata/families/*.gguf")
	made, _ := filepath.Glob("testdata/made/*/*.gguf")
	families = append(families, made...)
	if files = append(files, families...); err != nil || len(files) == len(families) || len(families) == 0 {
		f.Fatal(len(files), err)
	}
	var data [][]byte
	for i, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		data = append(data, b)
		f.Add(uint8(i), uint16(5), int64(-1), 1e30, uint8(0))
		f.Add(uint8(i), uint16(8), int64(1)<<40, 0.0, uint8(1))
		f.Add(uint8(i), uint16(11), int64(3), -1.5, uint8(2))
	}
	f.Fuzz(func(t *testing.T, file uint8, key uint16, n int64, x float64, kind uint8) {
		set, err := gguf.Parse(data[int(file)%len(data)])
		if err != nil {
			t.Fatal(err)
		}
		defer set.Close()
		var keys []string
		for k := range set.Meta.All() {
			if !strings.HasPrefix(k, "tokenizer.") {
				keys = append(keys, k)
			}
		}
		spoilt := &weights.Set{Source: set.Source}
		for k, v := range set.Meta.All() {
			if k == keys[int(key)%len(keys)] {
				v = []weights.Value{n, x, "yarn", n%2 == 0, []int64{n, n}}[int(kind)%5]
			}
			spoilt.Meta.Set(k, v)
		}
		for w := range set.All() {
			if err := spoilt.Add(w); err != nil {
				t.Fatal(err)
			}
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		m, err := model.Open(spoilt)
		if err == nil {
			b := graph.NewBuilder(2, 1)
			h := m.Hidden(b)
			if !m.Config().Encoder {
				h = m.Logits(b, h)
			}
			_, err = b.Compile(h)
			if head, ok := m.(model.Projector); ok && err == nil {
				b := graph.NewBuilder(1, 1)
				_, err = b.Compile(head.Project(b, b.Features(m.Config().Hidden)))
			}
		} else if !errors.Is(err, model.ErrFormat) && !errors.Is(err, model.ErrUnsupported) {
			t.Errorf("error %v wraps no sentinel", err)
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
			t.Errorf("%d bytes allocated (error %v)", used, err)
		}
	})
}

// What is sound but not run is refused by name.
func TestRefused(t *testing.T) {
	for _, tt := range []struct {
		name, file, key string
		value           weights.Value
		want            string
		err             error
	}{
		{"architecture", "smollm2-F32", "general.architecture", "rwkv6", `architecture "rwkv6" is not known; quern knows afmoe, apertus, arcee, bailingmoe, bailingmoe2, bert, bloom`, model.ErrUnsupported},
		{"causal", "qwen3moe", "qwen3moe.attention.causal", false, "qwen3moe.attention.causal is false", model.ErrUnsupported},
		{"pooling", "nomic-bert", "nomic-bert.pooling_type", int64(4), "nomic-bert.pooling_type is 4", model.ErrUnsupported},
		{"expert weights", "qwen2moe", "qwen2moe.expert_weights_scale", 2.5, `key "qwen2moe.expert_weights_scale" = 2.5 is none that quern knows`, model.ErrUnsupported},
		{"rope scaling", "granite", "granite.rope.scaling.type", "new", "granite.rope.scaling.type is new", model.ErrUnsupported},
		{"experts used", "phimoe", "phimoe.expert_used_count", int64(5), "phimoe.expert_used_count is 5, outside 1 to 4", model.ErrFormat},
		{"no experts", "gpt-oss", "gpt-oss.expert_count", int64(0), "gpt-oss.expert_count is missing", model.ErrFormat},
		{"heads", "olmo2", "olmo2.attention.head_count", int64(2), "attn_output.weight has shape [32 64], want [32 32]", model.ErrFormat},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join("testdata", tt.file+".gguf"))
			if err != nil {
				t.Fatal(err)
			}
			set, err := gguf.Parse(bytes.Clone(b))
			if err != nil {
				t.Fatal(err)
			}
			set.Meta.Set(tt.key, tt.value)
			if _, err := model.Open(set); !errors.Is(err, tt.err) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %v about %q", err, tt.err, tt.want)
			}
		})
	}
}

// An encoder has no logits.
func TestEncoderHasNoLogits(t *testing.T) {
	m := openModel(t, open(t, "testdata/nomic-bert.gguf"))
	b := graph.NewBuilder(1, 1)
	if _, err := b.Compile(m.Logits(b, m.Hidden(b))); !errors.Is(err, model.ErrUnsupported) {
		t.Errorf("error %v", err)
	}
}

// FuzzTranslate reads directories of one tensor and its scales: whatever they
// say, translating fails with one of the sentinels or the result can be put
// together.
func FuzzTranslate(f *testing.F) {
	dtypes := []string{"F32", "F16", "F8_E4M3", "F8_E5M2", "U8", "F8_E8M0", "I64"}
	f.Add(`{`+tinyLlama+`,"quantization_config":{"quant_method":"fp8","weight_block_size":[2,2]}}`, "model.layers.0.mlp.up_proj.weight", uint8(2), uint8(3), uint8(4), uint8(0), "_scale_inv", uint8(0), uint8(2), uint8(2))
	f.Add(`{"model_type":"gpt_oss","hidden_size":32,"num_hidden_layers":1,"num_attention_heads":2,"intermediate_size":2}`, "model.layers.0.mlp.experts.gate_up_proj_blocks", uint8(4), uint8(2), uint8(1), uint8(16), "", uint8(4), uint8(2), uint8(1))
	f.Add(`{"model_type":"gpt_oss","hidden_size":32,"num_hidden_layers":1,"num_attention_heads":2}`, "model.layers.0.mlp.experts.down_proj", uint8(1), uint8(2), uint8(3), uint8(4), "_bias", uint8(0), uint8(2), uint8(4))
	f.Add(`{"model_type":"falcon","hidden_size":4,"n_head":4,"num_kv_heads":2,"new_decoder_architecture":true}`, "transformer.h.0.self_attention.query_key_value.weight", uint8(2), uint8(8), uint8(4), uint8(0), "_scale", uint8(0), uint8(1), uint8(0))
	f.Add(`{"model_type":"gemma2","hidden_size":4}`, "model.norm.weight", uint8(3), uint8(4), uint8(0), uint8(0), "_scale", uint8(5), uint8(1), uint8(0))
	f.Add(`{"model_type":"mixtral","hidden_size":4}`, "model.layers.0.block_sparse_moe.experts.0.w1.weight", uint8(2), uint8(4), uint8(4), uint8(0), "_scale", uint8(0), uint8(4), uint8(1))
	// What other files have in another order, joined or multiplied.
	f.Add(`{"model_type":"qwen3_next","hidden_size":4,"linear_num_key_heads":1,"linear_num_value_heads":2,"linear_key_head_dim":2,"linear_value_head_dim":2,"linear_conv_kernel_dim":2}`, "model.layers.0.linear_attn.in_proj_qkvz.weight", uint8(0), uint8(12), uint8(4), uint8(0), "", uint8(0), uint8(0), uint8(0))
	f.Add(`{"model_type":"qwen3_5","text_config":{"hidden_size":4,"linear_num_key_heads":2,"linear_num_value_heads":4,"linear_key_head_dim":2,"linear_value_head_dim":2,"linear_conv_kernel_dim":2}}`, "model.layers.0.linear_attn.out_proj.weight", uint8(1), uint8(4), uint8(8), uint8(0), "", uint8(0), uint8(0), uint8(0))
	f.Add(`{"model_type":"falcon_h1","hidden_size":4,"mamba_d_conv":2,"mamba_d_state":1,"mamba_n_groups":1,"mamba_n_heads":2,"mamba_d_head":2,"ssm_multipliers":[1,2,3,4,5]}`, "model.layers.0.mamba.in_proj.weight", uint8(1), uint8(12), uint8(4), uint8(0), "", uint8(0), uint8(0), uint8(0))
	f.Add(`{"model_type":"granitemoehybrid","hidden_size":4,"mamba_d_conv":2,"mamba_d_state":1,"mamba_n_groups":1,"mamba_n_heads":2,"mamba_d_head":2,"layer_types":["mamba"],"shared_intermediate_size":2}`, "model.layers.0.shared_mlp.input_linear.weight", uint8(1), uint8(4), uint8(4), uint8(0), "", uint8(0), uint8(0), uint8(0))
	f.Add(`{"model_type":"mamba2","hidden_size":4,"conv_kernel":2,"state_size":1,"n_groups":1,"num_heads":2,"head_dim":2}`, "backbone.layers.0.mixer.A_log", uint8(0), uint8(2), uint8(0), uint8(0), "", uint8(0), uint8(0), uint8(0))
	f.Add(`{"model_type":"deepseek_v3","hidden_size":4,"num_attention_heads":2,"kv_lora_rank":2,"qk_nope_head_dim":2,"qk_rope_head_dim":2,"v_head_dim":1}`, "model.layers.0.self_attn.kv_b_proj.weight", uint8(1), uint8(6), uint8(2), uint8(0), "", uint8(0), uint8(0), uint8(0))
	f.Add(`{"model_type":"llama4","text_config":{"hidden_size":4,"num_local_experts":2}}`, "language_model.model.layers.0.feed_forward.experts.gate_up_proj", uint8(1), uint8(2), uint8(4), uint8(4), "", uint8(0), uint8(0), uint8(0))
	// Heads, layers behind the pooling, and positions that begin later.
	f.Add(`{"model_type":"xlm-roberta","architectures":["XLMRobertaForSequenceClassification"],"hidden_size":4,"num_attention_heads":2,"pad_token_id":1,"max_position_embeddings":8}`, "roberta.embeddings.position_embeddings.weight", uint8(0), uint8(8), uint8(4), uint8(0), "", uint8(0), uint8(0), uint8(0))
	f.Add(`{"model_type":"modernbert","architectures":["ModernBertForSequenceClassification"],"classifier_pooling":"cls","hidden_size":4,"num_attention_heads":2,"layer_types":["full_attention","sliding_attention"],"global_attn_every_n_layers":3}`, "model.layers.1.mlp.Wi.weight", uint8(1), uint8(8), uint8(4), uint8(0), "", uint8(0), uint8(0), uint8(0))
	f.Add(`{"model_type":"qwen3","_name_or_path":"x/Qwen3-Reranker-1B","hidden_size":4,"num_attention_heads":2,"vocab_size":8,"tie_word_embeddings":true}`, "model.embed_tokens.weight", uint8(1), uint8(8), uint8(4), uint8(0), "", uint8(0), uint8(0), uint8(0))
	f.Add(`{"model_type":"bert","position_embedding_type":"alibi","feed_forward_type":"geglu","hidden_size":4,"num_attention_heads":2}`, "encoder.layer.0.mlp.gated_layers.weight", uint8(1), uint8(6), uint8(4), uint8(0), "", uint8(0), uint8(0), uint8(0))
	f.Add(`{"model_type":"gemma3_text","use_bidirectional_attention":true,"hidden_size":4,"num_attention_heads":2}`, "dense_2.linear.weight", uint8(0), uint8(6), uint8(4), uint8(0), "", uint8(0), uint8(0), uint8(0))
	f.Add(`{"model_type":"mistral4","hidden_size":4,"kv_lora_rank":2,"qk_nope_head_dim":2,"qk_rope_head_dim":2,"v_head_dim":1}`, "model.layers.0.mlp.experts.gate_up_proj", uint8(1), uint8(2), uint8(4), uint8(4), "", uint8(0), uint8(0), uint8(0))
	f.Add(`{"model_type":"jamba","hidden_size":4,"num_hidden_layers":1,"mamba_d_conv":2,"mamba_d_state":2,"mamba_expand":2,"mamba_dt_rank":"auto"}`, "model.layers.0.mamba.conv1d.weight", uint8(1), uint8(8), uint8(1), uint8(2), "", uint8(0), uint8(0), uint8(0))
	f.Add(`{"model_type":"nemotron_h","hidden_size":4,"hybrid_override_pattern":"E","moe_latent_size":2,"conv_kernel":2,"ssm_state_size":1,"n_groups":1,"mamba_num_heads":2,"mamba_head_dim":2,"num_experts_per_tok":1,"n_routed_experts":2}`, "backbone.layers.0.mixer.experts.0.up_proj.weight", uint8(1), uint8(2), uint8(2), uint8(0), "", uint8(0), uint8(0), uint8(0))
	f.Add(`{"model_type":"qwen3_vl_moe","text_config":{"hidden_size":4,"num_experts":2,"model_type":"qwen3_vl_moe_text","rope_scaling":{"mrope_section":[1,1,0]}}}`, "model.language_model.layers.0.mlp.experts.gate_up_proj", uint8(1), uint8(2), uint8(4), uint8(4), "", uint8(0), uint8(0), uint8(0))
	f.Add(`{"model_type":"internvl_chat","llm_config":{"model_type":"glm4","hidden_size":4,"num_attention_heads":1}}`, "language_model.model.layers.0.mlp.gate_up_proj.weight", uint8(1), uint8(4), uint8(4), uint8(0), "", uint8(0), uint8(0), uint8(0))
	f.Add(`{"model_type":"gemma3n","text_config":{"hidden_size":4,"num_hidden_layers":2,"head_dim":2,"intermediate_size":[4,4],"altup_coef_clip":0.1,"activation_sparsity_pattern":[0.5,0.0]}}`, "model.language_model.layers.0.altup.correction_coefs.weight", uint8(1), uint8(4), uint8(4), uint8(0), "", uint8(0), uint8(0), uint8(0))
	f.Add(`{"model_type":"mpt","d_model":4,"n_heads":2,"n_layers":1,"expansion_ratio":2,"attn_config":{"alibi":true,"clip_qkv":1,"kv_n_heads":2}}`, "transformer.blocks.0.attn.Wqkv.weight", uint8(1), uint8(12), uint8(4), uint8(0), "", uint8(0), uint8(0), uint8(0))
	f.Add(`{"model_type":"gemma4","text_config":{"hidden_size":4,"num_hidden_layers":2,"head_dim":2,"global_head_dim":4,"enable_moe_block":true,"num_experts":2,"top_k_experts":1,"moe_intermediate_size":2,"per_layer_config":{"1":{"num_key_value_heads":1}}}}`, "model.language_model.layers.0.experts.gate_up_proj", uint8(1), uint8(2), uint8(4), uint8(4), "", uint8(0), uint8(0), uint8(0))
	f.Add(`{"model_type":"gemma4_text","hidden_size":4,"num_hidden_layers":2,"num_kv_shared_layers":1,"use_double_wide_mlp":true,"intermediate_size":4,"hidden_size_per_layer_input":2,"layer_types":["sliding_attention","full_attention"]}`, "model.layers.0.router.per_expert_scale", uint8(0), uint8(2), uint8(0), uint8(0), "", uint8(0), uint8(0), uint8(0))
	f.Add(`{"model_type":"rwkv7","hidden_size":4,"num_hidden_layers":1,"head_dim":2,"intermediate_size":4}`, "model.layers.0.attn.x_r", uint8(1), uint8(1), uint8(1), uint8(4), "", uint8(0), uint8(0), uint8(0))
	f.Add(`{"model_type":"rwkv7","hidden_size":4,"num_hidden_layers":1,"head_dim":2,"intermediate_size":4}`, "model.layers.0.attn.a_lora.lora.2.bias", uint8(0), uint8(4), uint8(0), uint8(0), "", uint8(0), uint8(0), uint8(0))
	f.Fuzz(func(t *testing.T, config, name string, dtype, a, b, c uint8, suffix string, scaleType, sa, sb uint8) {
		set := &weights.Set{Source: weights.SafeTensors}
		set.Meta.Set("hf.config", config)
		set.Meta.Set("hf.tokenizer", `{"model":{"vocab":{"yes":5,"no":2}}}`)
		if strings.HasPrefix(name, "dense_2") {
			set.Meta.Set("hf.dense_2", `{"in_features":4,"out_features":6,"activation_function":"torch.nn.modules.activation.Tanh"}`)
		}
		add := func(name string, dtype uint8, dims ...uint8) {
			d := dtypes[int(dtype)%len(dtypes)]
			n := 1
			var shape []int
			for _, x := range dims {
				if x > 0 {
					shape = append(shape, int(x))
					n *= int(x)
				}
			}
			switch d {
			case "F32", "F16":
				typ, size := quant.F32, 4
				if d == "F16" {
					typ, size = quant.F16, 2
				}
				_ = set.Add(&weights.Tensor{Name: name, Type: typ, Shape: shape, Data: make([]byte, n*size)})
			case "I64":
				set.AddRaw(&weights.Raw{Name: name, DType: d, Shape: shape, Data: make([]byte, 8*n)})
			default:
				set.AddRaw(&weights.Raw{Name: name, DType: d, Shape: shape, Data: make([]byte, n)})
			}
		}
		add(name, dtype, a, b, c)
		add(name+suffix, scaleType, sa, sb)
		if base, ok := strings.CutSuffix(name, "_blocks"); ok {
			add(base+"_scales", scaleType, sa, sb)
		}
		got, err := model.Translate(set)
		if err == nil {
			err = set.Fill()
		}
		if err == nil {
			for w := range got.All() {
				if n, ok := w.Type.Size(w.Elems()); !ok || n != len(w.Data) {
					t.Errorf("%s of %v %v has %d bytes", w.Name, w.Type, w.Shape, len(w.Data))
				}
			}
			_, err = model.ToGGUF(set)
		}
		if err != nil && !errors.Is(err, model.ErrFormat) && !errors.Is(err, model.ErrUnsupported) {
			t.Errorf("error %v wraps no sentinel", err)
		}
	})
}

// FuzzAdapter gives bytes as an adapter to three models, as GGUF, or as SafeTensors with a
// configuration: it is refused by one of the two sentinels, or its changes can be recorded
// and put together. What the bytes say may not be allocated.
func FuzzAdapter(f *testing.F) {
	open := func(path string) (*weights.Set, model.LM) {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		set, err := gguf.Parse(b)
		if err != nil {
			f.Fatal(err)
		}
		m, err := model.Open(set)
		if err != nil {
			f.Fatal(err)
		}
		return set, m
	}
	llama, small := open("testdata/smollm2-F32.gguf")
	falcon, other := open("testdata/falcon-40b.gguf")
	qwen, mixture := open("testdata/qwen3moe.gguf")
	n := small.Config().Hidden
	var meta weights.Meta
	meta.Set("general.type", "adapter")
	meta.Set("general.architecture", "llama")
	meta.Set("adapter.type", "lora")
	meta.Set("adapter.lora.alpha", 4.0)
	var file bytes.Buffer
	err := gguf.Write(&file, &meta, []gguf.Stream{
		gguf.StreamOf(f32Tensor("blk.0.attn_q.weight.lora_a", make([]float32, 2*n), 2, n)),
		gguf.StreamOf(f32Tensor("blk.0.attn_q.weight.lora_b", make([]float32, 2*n), n, 2)),
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file.Bytes(), "", 1.0)
	const name = "base_model.model.model.layers.0.self_attn.k_proj"
	header := fmt.Sprintf(`{%q:{"dtype":"F32","shape":[1,%d],"data_offsets":[0,%d]},%q:{"dtype":"F32","shape":[%d,1],"data_offsets":[%d,%d]}}`,
		name+".lora_A.weight", n, 4*n, name+".lora_B.weight", n/3, 4*n, 4*n+4*(n/3))
	tensors := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
	tensors = append(tensors, make([]byte, 4*n+4*(n/3))...)
	f.Add(tensors, `{"peft_type":"LORA","r":1,"lora_alpha":16,"rank_pattern":{"k_proj":1}}`, 0.5)
	f.Add(tensors, `{"peft_type":"LORA","r":1,"lora_alpha":16,"use_rslora":true,"alpha_pattern":{".*":1e300},"bias":"none"}`, -1.0)
	c := mixture.Config()
	meta.Set("general.architecture", "qwen3moe")
	file.Reset()
	err = gguf.Write(&file, &meta, []gguf.Stream{
		gguf.StreamOf(f32Tensor("blk.1.ffn_down_exps.weight.lora_a", make([]float32, c.Experts*c.ExpertFF), c.Experts, 1, c.ExpertFF)),
		gguf.StreamOf(f32Tensor("blk.1.ffn_down_exps.weight.lora_b", make([]float32, c.Experts*c.Hidden), c.Experts, c.Hidden, 1)),
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file.Bytes(), "", 1.0)
	for _, name := range []string{"base_model.model.model.layers.0.mlp.experts", "base_model.model.model.layers.1.mlp.experts.base_layer", "base_model.model.model.layers.1.mlp.experts.3.down_proj"} {
		rows, in, out := c.Experts, c.Hidden, 2*c.ExpertFF
		if strings.HasSuffix(name, "down_proj") {
			rows, in, out = 1, c.ExpertFF, c.Hidden
		}
		header := fmt.Sprintf(`{%q:{"dtype":"F32","shape":[%d,%d],"data_offsets":[0,%d]},%q:{"dtype":"F32","shape":[%d,%d],"data_offsets":[%d,%d]}}`,
			name+".lora_A.weight", rows, in, 4*rows*in, name+".lora_B.weight", out, rows, 4*rows*in, 4*rows*(in+out))
		tensors := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
		f.Add(append(tensors, make([]byte, 4*rows*(in+out))...), `{"peft_type":"LORA","r":1,"lora_alpha":16,"peft_version":"0.19.1","target_parameters":["mlp.experts.gate_up_proj"]}`, 1.0)
	}
	f.Fuzz(func(t *testing.T, data []byte, config string, scale float64) {
		var set *weights.Set
		var err error
		if config == "" {
			set, err = gguf.Parse(data)
		} else if set, err = safetensors.Parse(data); err == nil {
			set.Meta.Set("hf.adapter_config", config)
		}
		if err != nil {
			return
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for _, base := range []struct {
			set *weights.Set
			m   model.LM
		}{{llama, small}, {falcon, other}, {qwen, mixture}} {
			x, err := model.ReadAdapter(base.m, base.set, set, scale)
			if err != nil {
				if !errors.Is(err, model.ErrFormat) && !errors.Is(err, model.ErrUnsupported) {
					t.Errorf("error %v wraps no sentinel", err)
				}
				continue
			}
			for _, w := range x.Tensors {
				if _, err := w.Read(); err != nil {
					t.Errorf("%s: %v", w.Name, err)
				}
			}
			b := graph.NewBuilder(2, 1)
			b.Adapt(model.Changes([]*model.Adapter{x}))
			if _, err := b.Compile(base.m.Logits(b, base.m.Hidden(b))); err != nil {
				t.Errorf("accepted, and cannot be recorded: %v", err)
			}
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20+40*uint64(len(data)) {
			t.Errorf("%d bytes allocated for %d", used, len(data))
		}
	})
}
