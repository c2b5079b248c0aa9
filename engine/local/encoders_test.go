package local

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"quern/engine"
	"quern/engine/model"
	"quern/engine/quantize"
	"quern/engine/token"
	"quern/formats/gguf"
)

// folder writes a model of engine/model/testdata as Hugging Face publishes it, with a
// tokenizer of words. names turn the names of tensors; what becomes "" is left out.
func folder(t *testing.T, dir, file string, config map[string]any, names []string) {
	t.Helper()
	set, err := gguf.Open("../model/testdata/" + file + ".gguf")
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	rename := strings.NewReplacer(names...)
	var list []published
	dense := map[string][]published{}
	for w := range set.All() {
		p := published{rename.Replace(w.Name), w.Shape, make([]float32, w.Elems())}
		w.Type.Layout().Decode(p.x, w.Data)
		switch {
		case p.name == "" || file == "qwen3-scores" && strings.HasPrefix(p.name, "cls."):
		case strings.HasPrefix(p.name, "dense_"):
			dense[p.name[:7]] = append(dense[p.name[:7]], published{"linear.weight", p.shape, p.x})
		default:
			if file == "gemma-embedding" && strings.HasSuffix(p.name, "norm.weight") {
				for i := range p.x {
					p.x[i]-- // stored less one
				}
			}
			if strings.HasSuffix(p.name, "position_embeddings.weight") {
				p.shape, p.x = []int{p.shape[0] + 2, p.shape[1]}, append(make([]float32, 2*p.shape[1]), p.x...)
			}
			list = append(list, p)
		}
	}
	place(t, dir, "model.safetensors", safeTensors(t, list))
	modules := []map[string]any{{"path": "", "type": "sentence_transformers.models.Transformer"}, {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}}
	for i, name := range []string{"dense_2", "dense_3"} {
		if l := dense[name]; l != nil {
			at := fmt.Sprintf("%d_Dense", i+2)
			place(t, dir, at+"/model.safetensors", safeTensors(t, l))
			place(t, dir, at+"/config.json", map[string]any{"in_features": l[0].shape[1], "out_features": l[0].shape[0], "bias": false, "activation_function": "torch.nn.modules.linear.Identity"})
			modules = append(modules, map[string]any{"path": at, "type": "sentence_transformers.models.Dense"})
		}
	}
	if len(modules) > 2 {
		place(t, dir, "modules.json", append(modules, map[string]any{"path": "4_Normalize", "type": "sentence_transformers.models.Normalize"}))
	}
	for k, v := range map[string]any{"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 48, "max_position_embeddings": 64} {
		if config[k] == nil {
			config[k] = v
		}
	}
	place(t, dir, "config.json", config)
	words := numbered(48)
	delete(words, "w7")
	delete(words, "w3")
	words["yes"] = 7
	wordTokenizer(t, dir, words)
}

var publishedBert = []string{
	"token_embd_norm", "embeddings.LayerNorm", "token_embd", "embeddings.word_embeddings", "position_embd", "embeddings.position_embeddings", "token_types", "embeddings.token_type_embeddings",
	"attn_output_norm", "attention.output.LayerNorm", "layer_output_norm", "output.LayerNorm", "attn_output", "attention.output.dense",
	"attn_q", "attention.self.query", "attn_k", "attention.self.key", "attn_v", "attention.self.value", "ffn_up", "intermediate.dense", "ffn_down", "output.dense", "blk.", "encoder.layer.",
	"cls.output", "classifier.out_proj", "cls.", "classifier.dense.",
}

var publishedQwen = []string{
	"attn_q_norm", "self_attn.q_norm", "attn_k_norm", "self_attn.k_norm", "attn_norm", "input_layernorm", "post_attention_norm", "post_attention_layernorm", "post_ffw_norm", "post_feedforward_layernorm",
	"ffn_norm", "pre_feedforward_layernorm",
	"attn_output", "self_attn.o_proj", "attn_q.", "self_attn.q_proj.", "attn_k.", "self_attn.k_proj.", "attn_v.", "self_attn.v_proj.",
	"ffn_gate", "mlp.gate_proj", "ffn_up", "mlp.up_proj", "ffn_down", "mlp.down_proj", "blk.", "model.layers.", "token_embd", "model.embed_tokens", "output_norm", "model.norm",
}

// TestRerankersAsFiles scores pairs with each kind of reranker from Hugging Face's form and
// from the GGUF file quern makes of it, and expects the same.
func TestRerankersAsFiles(t *testing.T) {
	dir := t.TempDir()
	xlmr, qwen := filepath.Join(dir, "bge-reranker"), filepath.Join(dir, "Qwen3-Reranker-tiny")
	folder(t, xlmr, "xlm-roberta-scores", map[string]any{"model_type": "xlm-roberta", "architectures": []string{"XLMRobertaForSequenceClassification"}, "max_position_embeddings": 66, "layer_norm_eps": 1e-3, "pad_token_id": 1, "type_vocab_size": 1}, publishedBert)
	unigramTokenizer(t, xlmr)
	names := slices.Clone(publishedQwen)
	names[slices.Index(names, "ffn_norm")+1] = "post_attention_layernorm"
	folder(t, qwen, "qwen3-scores", map[string]any{"model_type": "qwen3", "architectures": []string{"Qwen3ForCausalLM"}, "num_key_value_heads": 2, "head_dim": 16, "rms_norm_eps": 1e-3, "rope_theta": 1e6, "tie_word_embeddings": true, "max_position_embeddings": 512}, names)
	// It judges by the words yes and no.
	text, err := os.ReadFile(filepath.Join(qwen, "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	place(t, qwen, "tokenizer.json", []byte(strings.Replace(string(text), `"w5":5`, `"no":5`, 1)))
	bert, _ := crossEncoder(t, 1)
	o := engine.Options{}
	models := map[string]string{"xlmr": xlmr, "qwen": qwen, "bert": bert}
	for name, path := range models {
		to := filepath.Join(dir, name+".gguf")
		if err := quantize.File(t.Context(), quantize.Options{Source: path, Target: to, Type: "F16"}); err != nil {
			t.Fatal(name, err)
		}
		o.Models = append(o.Models, engine.ModelOptions{Name: name, Path: path}, engine.ModelOptions{Name: name + "-gguf", Path: to})
	}
	made, err := gguf.Open(filepath.Join(dir, "qwen.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	if made.Meta.String(model.RerankTemplate) != model.QwenRerank {
		t.Error("the GGUF file does not say what its pairs are put into")
	}
	if labels, _ := made.Meta.Lookup("qwen3.classifier.output_labels"); !reflect.DeepEqual(labels, []string{"yes", "no"}) {
		t.Errorf("the GGUF file has labels %v", labels)
	}
	made.Close()
	e := open(t, o)
	r := engine.RerankRequest{Query: "w10 w11 w12", Documents: []string{"w20 w21", "w10 w11", "", "w30 w31 w32 w33 w34 w35", "w40 yes"}}
	for name := range models {
		var got [2]engine.RerankResult
		for i, name := range []string{name, name + "-gguf"} {
			if info, err := e.described(name, engine.KindRerank); err != nil || info.Kind != engine.KindRerank {
				t.Fatalf("%s is %+v, %v", name, info, err)
			}
			if got[i], err = e.Rerank(t.Context(), name, r); err != nil {
				t.Fatal(name, err)
			}
		}
		t.Logf("%s: %v", name, got[0].Scores)
		for i, s := range got[0].Scores {
			if math.Abs(float64(s-got[1].Scores[i])) > 2e-3 {
				t.Errorf("%s: document %d has %g and as GGUF %g", name, i, s, got[1].Scores[i])
			}
		}
		if more := got[1].PromptTokens - got[0].PromptTokens; more != 0 {
			t.Errorf("%s: %d tokens more as GGUF", name, more)
		}
		if slices.Max(got[0].Scores)-slices.Min(got[0].Scores) < 1e-3 {
			t.Errorf("%s: scores %v do not depend on the document", name, got[0].Scores)
		}
	}
}

// unigramTokenizer writes the tokenizer of XLM-RoBERTa over the words of wordTokenizer,
// whose pairs are divided by two tokens.
func unigramTokenizer(t *testing.T, dir string) {
	t.Helper()
	vocab := [][2]any{{"<s>", 0.0}, {"<pad>", 0.0}, {"</s>", 0.0}, {"<unk>", 0.0}}
	for i := 4; i < 47; i++ {
		vocab = append(vocab, [2]any{fmt.Sprintf("▁w%d", i), -float64(i)})
	}
	vocab = append(vocab, [2]any{"▁", -60.0})
	special := []any{}
	tokens := map[string]any{}
	for i, name := range []string{"<s>", "<pad>", "</s>", "<unk>"} {
		special = append(special, map[string]any{"id": i, "content": name, "special": true})
		tokens[name] = map[string]any{"id": name, "ids": []int{i}, "tokens": []string{name}}
	}
	add := func(name string) any { return map[string]any{"SpecialToken": map[string]any{"id": name, "type_id": 0}} }
	text := func(name string) any { return map[string]any{"Sequence": map[string]any{"id": name, "type_id": 0}} }
	place(t, dir, "tokenizer.json", map[string]any{
		"model":         map[string]any{"type": "Unigram", "unk_id": 3, "vocab": vocab},
		"added_tokens":  special,
		"pre_tokenizer": map[string]any{"type": "Metaspace", "replacement": "▁", "add_prefix_space": true},
		"decoder":       map[string]any{"type": "Metaspace", "replacement": "▁", "add_prefix_space": true},
		"post_processor": map[string]any{"type": "TemplateProcessing", "single": []any{add("<s>"), text("A"), add("</s>")},
			"pair": []any{add("<s>"), text("A"), add("</s>"), add("</s>"), text("B"), add("</s>")}, "special_tokens": tokens},
	})
	place(t, dir, "tokenizer_config.json", map[string]any{"tokenizer_class": "XLMRobertaTokenizer", "bos_token": "<s>", "eos_token": "</s>", "sep_token": "</s>", "cls_token": "<s>", "unk_token": "<unk>", "pad_token": "<pad>"})
}

// TestDenseAsFiles makes vectors with the layers that sentence-transformers puts behind the
// pooling: those of float64, from a folder and from the GGUF file made of it, and cut to
// fewer numbers with their length made 1 again.
func TestDenseAsFiles(t *testing.T) {
	dir := t.TempDir()
	plain, file := filepath.Join(dir, "embeddinggemma"), filepath.Join(dir, "dense.gguf")
	folder(t, plain, "gemma-embedding", map[string]any{"model_type": "gemma3_text", "use_bidirectional_attention": true, "num_key_value_heads": 2, "head_dim": 16, "rms_norm_eps": 1e-3, "rope_theta": 5000.0, "max_position_embeddings": 160,
		"rope_local_base_freq": 300.0, "query_pre_attn_scalar": 16, "sliding_window": 9, "layer_types": []string{"sliding_attention", "full_attention"}}, publishedQwen)
	place(t, plain, "1_Pooling/config.json", map[string]any{"pooling_mode_mean_tokens": true, "word_embedding_dimension": 32})
	if err := quantize.File(t.Context(), quantize.Options{Source: plain, Target: file, Type: "F16"}); err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Prompt []token.ID `json:"prompt_ids"`
		Vector []float64  `json:"vector"`
	}
	text, err := os.ReadFile("../model/testdata/gemma-embedding.golden.json")
	if err == nil {
		err = json.Unmarshal(text, &golden)
	}
	if err != nil {
		t.Fatal(err)
	}
	e := open(t, engine.Options{Models: []engine.ModelOptions{{Name: "embeddinggemma", Path: plain}, {Name: "file", Path: file}}})
	var batch []engine.EmbedInput
	for range 70 { // more than go through the layers together
		batch = append(batch, engine.EmbedInput{Tokens: golden.Prompt[:9]})
	}
	batch = append(batch, engine.EmbedInput{Tokens: golden.Prompt})
	norm := 0.0
	for _, x := range golden.Vector {
		norm += x * x
	}
	for name, limit := range map[string]float64{"embeddinggemma": 1e-5, "file": 1e-3} {
		res, err := e.Embed(t.Context(), name, engine.EmbedRequest{Inputs: batch, Raw: true})
		if err != nil {
			t.Fatal(name, err)
		}
		for i, x := range res.Vectors[70] {
			if d := math.Abs(float64(x) - golden.Vector[i]); d > limit*math.Sqrt(norm/32) {
				t.Errorf("%s: [%d] is %g, want %g", name, i, x, golden.Vector[i])
			}
		}
		if !slices.Equal(res.Vectors[0], res.Vectors[69]) || len(res.Vectors[0]) != 32 {
			t.Errorf("%s: the same text has another vector in another place", name)
		}
	}
	cut, err := e.Embed(t.Context(), "embeddinggemma", engine.EmbedRequest{Inputs: batch[70:], Dimensions: 8})
	if err != nil {
		t.Fatal(err)
	}
	sum, length := 0.0, 0.0
	for i, x := range cut.Vectors[0] {
		sum += float64(x) * float64(x)
		length += golden.Vector[i] * golden.Vector[i]
	}
	if len(cut.Vectors[0]) != 8 || math.Abs(sum-1) > 1e-5 || math.Abs(float64(cut.Vectors[0][0])-golden.Vector[0]/math.Sqrt(length)) > 1e-4 {
		t.Errorf("%d numbers of length² %g, the first %g", len(cut.Vectors[0]), sum, cut.Vectors[0][0])
	}
}

// TestLastTokenAsFiles: of a model that pools its last token every text ends as its
// tokenizer says, and what was put before queries when it was trained is put there.
func TestLastTokenAsFiles(t *testing.T) {
	dir := t.TempDir()
	names := slices.Clone(publishedQwen)
	names[slices.Index(names, "ffn_norm")+1] = "post_attention_layernorm"
	folder(t, dir, "qwen3-scores", map[string]any{"model_type": "qwen3", "architectures": []string{"Qwen3ForCausalLM"}, "num_key_value_heads": 2, "head_dim": 16, "rms_norm_eps": 1e-3, "rope_theta": 1e6, "tie_word_embeddings": true}, names)
	place(t, dir, "1_Pooling/config.json", map[string]any{"pooling_mode_lasttoken": true, "pooling_mode_mean_tokens": false, "include_prompt": true})
	place(t, dir, "modules.json", []map[string]any{{"path": "", "type": "sentence_transformers.models.Transformer"}, {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}, {"path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}})
	place(t, dir, "config_sentence_transformers.json", map[string]any{"prompts": map[string]string{"query": "w40 w41 ", "document": ""}, "default_prompt_name": nil})
	// Nothing before a text, [SEP] behind it.
	text, err := os.ReadFile(filepath.Join(dir, "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]any
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	post := file["post_processor"].(map[string]any)
	post["single"] = post["single"].([]any)[1:]
	place(t, dir, "tokenizer.json", file)
	gguf := filepath.Join(dir, "made.gguf")
	if err := quantize.File(t.Context(), quantize.Options{Source: dir, Target: gguf, Type: "F16"}); err != nil {
		t.Fatal(err)
	}
	prefix := "w40 w41 "
	e := open(t, engine.Options{Models: []engine.ModelOptions{{Name: "folder", Path: filepath.Join(dir, "model.safetensors")}, {Name: "gguf", Path: gguf, QueryPrefix: &prefix}}})
	for _, name := range []string{"folder", "gguf"} {
		vector := func(in engine.EmbedInput, kind string) []float32 {
			t.Helper()
			res, err := e.Embed(t.Context(), name, engine.EmbedRequest{Inputs: []engine.EmbedInput{in}, InputType: kind})
			if err != nil {
				t.Fatal(name, err)
			}
			return res.Vectors[0]
		}
		plain := vector(engine.EmbedInput{Text: "w10 w11"}, "")
		if want := vector(engine.EmbedInput{Tokens: []token.ID{10, 11, 3}}, ""); !slices.Equal(plain, want) {
			t.Errorf("%s: a text does not end with the token its tokenizer wants", name)
		}
		if other := vector(engine.EmbedInput{Tokens: []token.ID{10, 11}}, ""); slices.Equal(plain, other) {
			t.Errorf("%s: that token changes nothing", name)
		}
		if got, want := vector(engine.EmbedInput{Text: "w10 w11"}, "query"), vector(engine.EmbedInput{Tokens: []token.ID{40, 41, 10, 11, 3}}, ""); !slices.Equal(got, want) {
			t.Errorf("%s: queries are without their prompt", name)
		}
	}
}
