package model_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quern/engine/cpu"
	"quern/engine/graph"
	"quern/engine/model"
	"quern/engine/quantize"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// encoder holds one of the fixtures' families that make vectors against llama.cpp, whose
// activation is rounded, and float64: GGUF and Hugging Face form, quantised, and with
// other texts in the same step.
func encoder(t *testing.T, at string) {
	set := open(t, filepath.Join(at, "model.gguf"))
	exact := readGolden(t, filepath.Join(at, "golden-hf-f64.json"))
	t.Run("model", func(t *testing.T) {
		compareEmbedding(t, set, readGolden(t, filepath.Join(at, "golden.json")), model.PoolMean, 1e-2)
	})
	t.Run("exact", func(t *testing.T) { compareEmbedding(t, set, exact, model.PoolMean, 1e-4) })
	t.Run("hf", func(t *testing.T) {
		hf := openHF(t, filepath.Join(at, "hf"), "")
		hf.Meta.Set("hf.pooling", `{"pooling_mode_mean_tokens":true}`)
		compareEmbedding(t, hf, exact, model.PoolMean, 1e-4)
	})
	t.Run("quantised", func(t *testing.T) { encoderQuantised(t, set, exact.Prompt, 0.3) })
	t.Run("together", func(t *testing.T) { encoderTogether(t, set, exact.Prompt) })
}

// encoderQuantised holds quern's own quantised file against its numbers as float32: with
// activations of eight bits, which layers of random weights make much of.
func encoderQuantised(t *testing.T, set *weights.Set, prompt []int32, limit float64) {
	for _, typ := range []string{"Q8_0", "Q4_0"} {
		q, err := quantize.Set(context.Background(), set, typ, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := q.Fill(); err != nil {
			t.Fatal(err)
		}
		got, want := hiddenOf(t, q, prompt), hiddenOf(t, decoded(t, q), prompt)
		worst := 0.0
		for i := range want {
			ref := make([]float64, len(want[i]))
			for k, x := range want[i] {
				ref[k] = float64(x)
			}
			worst = max(worst, distance(got[i], ref))
		}
		if !(worst <= limit) || worst == 0 {
			t.Errorf("%s: rows are off by %.3g, want at most %g and above 0", typ, worst, limit)
		}
	}
}

// hiddenOf returns the rows of a text.
func hiddenOf(t *testing.T, set *weights.Set, prompt []int32) [][]float32 {
	t.Helper()
	r := newRunnerOf(t, openModel(t, set), quant.F32, func(_ model.LM, _ *graph.Builder, h graph.Value) graph.Value { return h })
	var all []int32
	for i := range prompt[:min(len(prompt), 64)] {
		all = append(all, int32(i))
	}
	return r.feed(prompt, all...)
}

// encoderTogether expects equal bits of a text alone and beside another: what stands for
// a prompt in pieces, since tokens that see what follows cannot come one by one.
func encoderTogether(t *testing.T, set *weights.Set, prompt []int32) {
	alone := hiddenOf(t, set, prompt)
	r := newRunnerOf(t, openModel(t, set), quant.F32, func(_ model.LM, _ *graph.Builder, h graph.Value) graph.Value { return h })
	in := &graph.Batch{}
	for s, text := range [][]int32{slices.Repeat([]int32{7, 9, 11}, 20), prompt} {
		in.Sequence(r.table[20*s:20*s+20], nil)
		for i, id := range text {
			in.Row(id, int32(i))
			if s == 1 {
				in.Want = append(in.Want, int32(len(in.Tokens)-1))
			}
		}
	}
	out := r.run(in)
	n := len(alone[0])
	for i := range alone {
		for k, x := range alone[i] {
			if math.Float32bits(x) != math.Float32bits(out[0][i*n+k]) {
				t.Fatalf("row %d [%d] is %g beside another text, %g alone", i, k, out[0][i*n+k], x)
			}
		}
	}
}

// What the fixtures' encoders are held to beside their numbers holds of those of
// make_golden.py, without fixtures.
func TestEncodersMade(t *testing.T) {
	for _, name := range []string{"modern-bert", "jina-bert-v2", "gemma-embedding", "xlm-roberta-scores"} {
		t.Run(name, func(t *testing.T) {
			set, prompt := open(t, "testdata/"+name+".gguf"), readGolden(t, "testdata/"+name+".golden.json").Prompt
			t.Run("quantised", func(t *testing.T) { encoderQuantised(t, set, prompt, 0.6) })
			t.Run("together", func(t *testing.T) { encoderTogether(t, set, prompt) })
		})
	}
}

// project runs the layers after pooling over one pooled row.
func project(t *testing.T, m model.LM, pooled []float32) []float32 {
	t.Helper()
	b := graph.NewBuilder(1, 1)
	p, err := b.Compile(m.(model.Projector).Project(b, b.Features(len(pooled))))
	if err != nil {
		t.Fatal(err)
	}
	be := cpu.Open(1)
	t.Cleanup(func() { be.Close() })
	exec, err := be.Compile(t.Context(), p, graph.Watch{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Run(t.Context(), &graph.Batch{Features: pooled, Positions: []int32{0}, Seq: []int32{0}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := m.Config().Vector; n != len(out[0]) {
		t.Errorf("a vector of %d numbers, the model says %d", len(out[0]), n)
	}
	return out[0]
}

// bertNames are the names of BERT in SafeTensors files.
var bertNames = []string{
	"token_embd_norm", "embeddings.LayerNorm", "token_embd", "embeddings.word_embeddings", "position_embd", "embeddings.position_embeddings", "token_types", "embeddings.token_type_embeddings",
	"attn_output_norm", "attention.output.LayerNorm", "layer_output_norm", "output.LayerNorm", "attn_output", "attention.output.dense",
	"attn_q", "attention.self.query", "attn_k", "attention.self.key", "attn_v", "attention.self.value", "ffn_up", "intermediate.dense", "ffn_down", "output.dense", "blk.", "encoder.layer.",
}

var modernNames = []string{
	"token_embd_norm", "model.embeddings.norm", "token_embd", "model.embeddings.tok_embeddings", "output_norm", "model.final_norm", "cls.norm", "head.norm", "cls.output", "classifier", "cls.", "head.dense.",
	"attn_qkv", "attn.Wqkv", "attn_output", "attn.Wo", "ffn_norm", "mlp_norm", "ffn_up", "mlp.Wi", "ffn_down", "mlp.Wo", "blk.", "model.layers.",
}

// TestEncodersPublished turns the encoders of make_golden.py into what Hugging Face
// publishes, and expects the same vectors and scores.
func TestEncodersPublished(t *testing.T) {
	qwen := slices.Clone(llamaNames)
	const sizes = `"hidden_size":32,"num_attention_heads":4,"intermediate_size":32,"max_position_embeddings":160,"vocab_size":48,`
	const modern = sizes + `"model_type":"modernbert","num_hidden_layers":5,"norm_eps":0.0010000000474974513,"global_rope_theta":5000.0,"local_rope_theta":300.0,`
	const reranker = sizes + `"model_type":"qwen3","num_hidden_layers":2,"num_key_value_heads":2,"head_dim":16,"rms_norm_eps":0.0010000000474974513,"rope_theta":1000000.0,"tie_word_embeddings":true,`
	for _, tt := range []struct {
		title, file, config string
		names               []string
		meta                map[string]string
		pooling             model.Pooling
	}{
		{"modernbert", "modern-bert", modern + `"architectures":["ModernBertModel"],"local_attention":8`, modernNames, map[string]string{"hf.pooling": `{"pooling_mode":"cls"}`}, model.PoolCLS},
		{"modernbert by layer", "modern-bert", modern + `"local_attention":8,"layer_types":["full_attention","sliding_attention","sliding_attention","full_attention","sliding_attention"]`,
			modernNames, map[string]string{"hf.pooling": `{"pooling_mode_cls_token":true,"include_prompt":true}`}, model.PoolCLS},
		{"modernbert classifier", "modern-bert-scores", modern + `"architectures":["ModernBertForSequenceClassification"],"local_attention":7,"hidden_activation":"silu","classifier_pooling":"mean"`, modernNames, nil, model.PoolMean},
		{"xlm-roberta classifier", "xlm-roberta-scores", strings.Replace(sizes, "160", "66", 1) + `"model_type":"xlm-roberta","num_hidden_layers":2,"architectures":["XLMRobertaForSequenceClassification"],"layer_norm_eps":0.0010000000474974513,"pad_token_id":1`,
			append([]string{"cls.output", "classifier.out_proj", "cls.", "classifier.dense."}, bertNames...), nil, model.PoolCLS},
		{"jina", "jina-bert-v2", `"model_type":"bert","position_embedding_type":"alibi","feed_forward_type":"geglu","hidden_size":48,"num_attention_heads":6,"intermediate_size":32,"max_position_embeddings":160,"vocab_size":48,"num_hidden_layers":2,"layer_norm_eps":0.0010000000474974513`,
			append([]string{"layer_output_norm", "mlp.layernorm", "ffn_down", "mlp.wo"}, bertNames...), map[string]string{"hf.pooling": `{"pooling_mode_mean_tokens":true}`}, model.PoolMean},
		{"qwen3 reranker", "qwen3-scores", reranker + `"architectures":["Qwen3ForCausalLM"],"_name_or_path":"Qwen/Qwen3-Reranker-0.6B"`, qwen, map[string]string{"hf.tokenizer": `{"model":{"vocab":{"yes":7,"no":3}}}`}, model.PoolLast},
		{"qwen3 reranker by folder", "qwen3-scores", reranker + `"architectures":["Qwen3ForCausalLM"]`, qwen, map[string]string{"hf.folder": "qwen3-reranker-4b", "hf.tokenizer": `{"model":{"vocab":{"yes":7,"no":3}}}`}, model.PoolLast},
		{"qwen3 reranker by its score", "qwen3-scores", reranker + `"architectures":["Qwen3ForCausalLM"]`, qwen, map[string]string{"hf.logit_score": `{"true_token_id":7,"false_token_id":3}`}, model.PoolLast},
		{"qwen3 classifier", "qwen3-scores", reranker + `"architectures":["Qwen3ForSequenceClassification"]`, append([]string{"cls.output", "score"}, qwen...), nil, model.PoolLast},
		{"embeddinggemma", "gemma-embedding", sizes + `"model_type":"gemma3_text","use_bidirectional_attention":true,"num_hidden_layers":2,"num_key_value_heads":2,"head_dim":16,"rms_norm_eps":0.0010000000474974513,"rope_theta":5000.0,"rope_local_base_freq":300.0,"query_pre_attn_scalar":16,"sliding_window":9,"layer_types":["sliding_attention","full_attention"]`,
			append([]string{"post_attention_norm", "post_attention_layernorm", "ffn_norm", "pre_feedforward_layernorm", "post_ffw_norm", "post_feedforward_layernorm", "dense_2.", "dense_2.linear.", "dense_3.", "dense_3.linear."}, llamaNames...),
			map[string]string{"hf.pooling": `{"pooling_mode_mean_tokens":true}`, "hf.dense_2": `{"in_features":32,"out_features":56,"bias":false,"activation_function":"torch.nn.modules.linear.Identity"}`, "hf.dense_3": `{"in_features":56,"out_features":32,"bias":false,"activation_function":"torch.nn.modules.linear.Identity"}`}, model.PoolMean},
	} {
		t.Run(tt.title, func(t *testing.T) {
			compareEmbedding(t, asPublished(t, tt.file, tt.config, tt.names, tt.meta), readGolden(t, "testdata/"+tt.file+".golden.json"), tt.pooling, 1e-5)
		})
	}
}

// asPublished is a model of testdata as Hugging Face publishes it.
func asPublished(t *testing.T, file, config string, names []string, meta map[string]string) *weights.Set {
	t.Helper()
	from := open(t, "testdata/"+file+".gguf")
	set := &weights.Set{Source: weights.SafeTensors}
	set.Meta.Set("hf.config", "{"+config+"}")
	for k, v := range meta {
		set.Meta.Set(k, v)
	}
	rename := strings.NewReplacer(names...)
	for w := range from.All() {
		x := &weights.Tensor{Name: rename.Replace(w.Name), Type: w.Type, Shape: w.Shape, Data: w.Data}
		switch {
		case file == "jina-bert-v2" && strings.Contains(w.Name, "ffn_up"):
			continue // behind the gate
		case file == "jina-bert-v2" && strings.Contains(w.Name, "ffn_gate"):
			up, _ := from.Tensor(strings.Replace(w.Name, "gate", "up", 1))
			x.Name = strings.Replace(x.Name, "ffn_gate", "mlp.gated_layers", 1)
			x.Shape, x.Data = []int{2 * w.Shape[0], w.Shape[1]}, slices.Concat(w.Data, up.Data)
		case w.Name == "cls.output.weight" && x.Name == "score.weight": // yes less no
			both := decode(w)
			n := len(both) / 2
			x.Type, x.Shape, x.Data = quant.F32, []int{1, n}, make([]byte, 4*n)
			for i := range n {
				both[i] -= both[n+i]
			}
			quant.F32.Layout().Encode(x.Data, both[:n])
		case strings.HasPrefix(x.Name, "cls.") && file == "qwen3-scores":
			continue // the rows of two tokens
		case w.Name == "position_embd.weight": // two rows that no token has
			x.Shape, x.Data = []int{w.Shape[0] + 2, w.Shape[1]}, slices.Concat(make([]byte, 2*4*w.Shape[1]), w.Data)
		case strings.HasSuffix(w.Name, "norm.weight") && file == "gemma-embedding": // stored less one
			less := decode(w)
			for i := range less {
				less[i]--
			}
			x.Type, x.Data = quant.F32, make([]byte, 4*len(less))
			quant.F32.Layout().Encode(x.Data, less)
		}
		if err := set.Add(x); err != nil {
			t.Fatal(err)
		}
	}
	return set
}

// What a head says that quern does not compute, or that contradicts itself, is refused.
func TestHeadRefused(t *testing.T) {
	rank := func(file, key string, v weights.Value) func(t *testing.T) *weights.Set {
		return func(t *testing.T) *weights.Set {
			set := open(t, "testdata/"+file+".gguf")
			set.Meta.Set(key, v)
			return set
		}
	}
	with := func(meta map[string]string) func(t *testing.T) *weights.Set {
		return func(t *testing.T) *weights.Set {
			return asPublished(t, "modern-bert", `"model_type":"modernbert","hidden_size":32,"num_attention_heads":4,"intermediate_size":32,"num_hidden_layers":5,"vocab_size":48`, modernNames, meta)
		}
	}
	for _, tt := range []struct {
		name string
		set  func(t *testing.T) *weights.Set
		want string
		err  error
	}{
		{"no head", rank("modern-bert", "modern-bert.pooling_type", int64(4)), "without cls.weight, the layer before the score", model.ErrUnsupported},
		{"a pooling of no kind", rank("modern-bert", "modern-bert.pooling_type", int64(5)), "pooling_type is 5", model.ErrUnsupported},
		{"no scorer", rank("gemma-embedding", "gemma-embedding.pooling_type", int64(4)), "pooling_type is 4", model.ErrUnsupported},
		{"labels", rank("qwen3-scores", "qwen3.classifier.output_labels", []string{"no", "yes"}), "output_labels is [no yes]", model.ErrUnsupported},
		{"layers that do not follow", rank("gemma-embedding", "gemma-embedding.dense_3_feat_in", int64(55)), "dense_3_feat_in is 55 for vectors of 56", model.ErrFormat},
		{"a layer of another size", rank("gemma-embedding", "gemma-embedding.dense_2_feat_out", int64(57)), "dense_2.weight has shape [56 32], want [57 32]", model.ErrFormat},
		{"an activation", rank("gemma-embedding", "gemma-embedding.dense_2_activation", "relu"), "dense_2_activation is relu", model.ErrUnsupported},
		{"the activation of gates", rank("modern-bert", "modern-bert.hidden_activation", "relu"), "hidden_activation is relu", model.ErrUnsupported},
		{"a tensor of the head", func(t *testing.T) *weights.Set {
			set := open(t, "testdata/xlm-roberta-scores.gguf")
			if err := set.Add(&weights.Tensor{Name: "cls.new.weight", Type: quant.F32, Shape: []int{1}, Data: make([]byte, 4)}); err != nil {
				t.Fatal(err)
			}
			return set
		}, `tensor "cls.new.weight" is none that quern knows`, model.ErrUnsupported},
		{"a pooling by the largest", with(map[string]string{"hf.pooling": `{"pooling_mode_max_tokens":true}`}), "a pooling other than", model.ErrUnsupported},
		{"a pooling without the prompt", with(map[string]string{"hf.pooling": `{"pooling_mode_mean_tokens":true,"include_prompt":false}`}), "without the tokens of the prompt", model.ErrUnsupported},
		{"another activation of a layer", with(map[string]string{"hf.dense_2": `{"in_features":32,"out_features":4,"activation_function":"torch.nn.modules.activation.ReLU"}`}), "Dense layer with activation \"ReLU\"", model.ErrUnsupported},
		{"a layer that is not there", with(map[string]string{"hf.dense_2": `{"in_features":32,"out_features":4,"activation_function":"torch.nn.modules.linear.Identity"}`}), "dense_2.weight is missing", model.ErrFormat},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := model.Open(tt.set(t)); !errors.Is(err, tt.err) || !strings.Contains(fmt.Sprint(err), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}
