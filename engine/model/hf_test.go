package model_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/engine/graph"
	"quern/engine/model"
	"quern/formats/safetensors"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// openHF opens a directory, with another file as its config.json if config is
// not empty.
func openHF(t *testing.T, dir, config string) *weights.Set {
	t.Helper()
	set, err := safetensors.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	if config == "" && set.Meta.String("hf.config") == "" {
		config = filepath.Join(filepath.Dir(dir), "hf", "config.json") // the type's twins share one
	}
	if config != "" {
		text, err := os.ReadFile(config)
		if err != nil {
			t.Fatal(err)
		}
		set.Meta.Set("hf.config", string(text))
	}
	return set
}

func decode(w *weights.Tensor) []float32 {
	x := make([]float32, w.Elems())
	w.Type.Layout().Decode(x, w.Data)
	return x
}

// permute orders the rows of each head as GGUF files of llama's architecture
// do: from the two halves alternately.
func permute(x []float32, rows, headDim int) []float32 {
	n := len(x) / rows
	out := make([]float32, 0, len(x))
	for r := range rows {
		head, i := r/headDim, r%headDim
		from := head*headDim + i/2 + i%2*headDim/2
		out = append(out, x[from*n:(from+1)*n]...)
	}
	return out
}

// TestTranslateFamilies does the same for the families that quern runs.
func TestTranslateFamilies(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join(fixtures.Path(t, "families"), "*", "hf"))
	if err != nil || len(dirs) < 20 {
		t.Fatalf("%d directories, %v", len(dirs), err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(filepath.Dir(dir)), func(t *testing.T) {
			sameAsGGUF(t, openHF(t, dir, ""), open(t, filepath.Join(filepath.Dir(dir), "model.gguf")))
		})
	}
}

// TestTranslate holds every Hugging Face twin against the GGUF file a
// converter made of it: the same tensors, bit for bit, and for each key of the
// GGUF file the same value.
func TestTranslate(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join(fixtures.Path(t, "llm"), "*", "hf"))
	if err != nil || len(dirs) < 20 {
		t.Fatalf("%d directories, %v", len(dirs), err)
	}
	for _, dir := range dirs {
		configs, err := filepath.Glob(filepath.Join(dir, "config*.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, config := range configs {
			if strings.Contains(config, "swa16") {
				continue // no GGUF file of it
			}
			t.Run(filepath.Base(filepath.Dir(dir))+"/"+filepath.Base(config), func(t *testing.T) {
				sameAsGGUF(t, openHF(t, dir, config), open(t, filepath.Join(filepath.Dir(dir), "model.gguf")))
			})
		}
	}
}

// neighbourRows are the architectures whose GGUF files have rows of queries and keys in another order.
var neighbourRows = []string{"deepseek", "llama", "smollm3", "mistral3", "arcee", "internlm2", "minicpm", "olmo", "bailingmoe"}

func sameAsGGUF(t *testing.T, set, want *weights.Set) {
	got, err := model.Translate(set)
	if err != nil {
		t.Fatal(err)
	}
	if err := set.Fill(); err != nil {
		t.Fatal(err)
	}
	arch := want.Meta.String("general.architecture")
	if a := got.Meta.String("general.architecture"); a != arch {
		t.Fatalf("architecture %q, want %q", a, arch)
	}
	skip := []string{
		"vocab_size", "tensor_data_layout",
		"rope.scaling.yarn_attn_factor", // quern writes rope.scaling.attn_factor instead
		"n_deepstack_layers",            // of images
	}
	if strings.HasPrefix(arch, "nemotron_h") {
		skip = append(skip, "rope.dimension_count") // of what it has not
	}
	if strings.HasPrefix(arch, "mamba") || arch == "rwkv7" {
		skip = append(skip, "context_length", "attention.key_length", "attention.value_length", "rope.dimension_count") // a state has none
	}
	if strings.HasPrefix(arch, "command-r") || arch == "cohere2" {
		skip = append(skip, "attention.layer_norm_rms_epsilon", "rope.scaling.type") // of norms it has not; "none"
	}
	if arch == "gemma-embedding" || arch == "jina-bert-v2" {
		skip = append(skip, "pooling_type") // the files that say so are not there
	}
	if n, ok := want.Meta.Int(arch + ".attention.sliding_window"); ok && n == 0 {
		skip = append(skip, "attention.sliding_window") // none
	}
	for k, v := range want.Meta.All() {
		if !strings.HasPrefix(k, arch+".") || slices.Contains(skip, strings.TrimPrefix(k, arch+".")) {
			continue
		}
		g, ok := got.Meta.Lookup(k)
		if !ok || !reflect.DeepEqual(g, v) && !(math.Abs(toFloat(g)-toFloat(v)) <= 1e-6*math.Abs(toFloat(v))) {
			t.Errorf("%s = %v, want %v", k, g, v)
		}
	}
	for w := range want.All() {
		g, ok := got.Tensor(w.Name)
		if !ok {
			t.Errorf("no tensor %s", w.Name)
			continue
		}
		x, y := decode(g), decode(w)
		if (slices.Contains(neighbourRows, arch) || strings.HasPrefix(arch, "granite")) && (strings.Contains(w.Name, "attn_q.") || strings.Contains(w.Name, "attn_k.")) {
			dim, ok := want.Meta.Int(arch + ".rope.dimension_count")
			if !ok { // the width of a head
				hidden, _ := want.Meta.Int(arch + ".embedding_length")
				heads, _ := want.Meta.Int(arch + ".attention.head_count")
				dim = hidden / heads
			}
			x = permute(x, w.Shape[0], int(dim))
		}
		limit := 0.0
		if strings.HasPrefix(w.Name, "rope_") || strings.HasSuffix(w.Name, "ssm_a") || arch == "falcon-h1" || arch == "bailingmoe" && w.Name == "output.weight" { // computed
			limit = 1e-6
		}
		if !slices.Equal(g.Shape, w.Shape) {
			t.Errorf("%s has shape %v, want %v", w.Name, g.Shape, w.Shape)
			continue
		}
		for i := range y {
			if d := math.Abs(float64(x[i] - y[i])); d > limit*math.Abs(float64(y[i])) {
				t.Errorf("%s differs at %d: %g, want %g", w.Name, i, x[i], y[i])
				break
			}
		}
	}
	for g := range got.All() {
		if _, ok := want.Tensor(g.Name); !ok {
			t.Errorf("a tensor too many: %s", g.Name)
		}
	}
	// In the order of GGUF files rows are equal too, and numbers of the kind
	// llama.cpp insists on.
	file, err := model.ToGGUF(set)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range want.Meta.All() {
		if g, ok := file.Meta.Lookup(k); ok && strings.HasPrefix(k, arch+".") && reflect.TypeOf(g) != reflect.TypeOf(v) {
			t.Errorf("%s is %T, want %T", k, g, v)
		}
	}
	for w := range want.All() {
		g, ok := file.Tensor(w.Name)
		if !ok || strings.HasPrefix(w.Name, "rope_") {
			continue
		}
		data, err := g.Read()
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float32, g.Elems())
		g.Type.Layout().Decode(x, data)
		same := slices.Equal[[]float32]
		if strings.HasSuffix(w.Name, "ssm_a") || arch == "falcon-h1" || arch == "bailingmoe" && w.Name == "output.weight" { // computed
			same = func(x, y []float32) bool {
				return slices.EqualFunc(x, y, func(x, y float32) bool { return math.Abs(float64(x-y)) <= 1e-6*math.Abs(float64(y)) })
			}
		}
		if !same(x, decode(w)) {
			t.Errorf("%s has rows in another order", w.Name)
		}
	}
}

func toFloat(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return math.NaN()
}

// TestGoldenSafeTensors holds every model's SafeTensors files against a
// float64 computation from the same files with Hugging Face's semantics, and
// those that differ from GGUF files in nothing against llama.cpp's output.
func TestGoldenSafeTensors(t *testing.T) {
	dir := fixtures.Path(t, "llm")
	type test struct{ dir, config, golden string }
	tests := []test{
		{"llama-mha/hf-sharded", "", "golden-hf-f64.json"},
		{"llama-mha/hf-sharded", "", "golden.json"},
		{"llama-mha/hf-bf16", "", "golden-bf16.json"},
		{"llama-mha/hf-f16", "", "golden-f16.json"},
		{"llama3-gqa-tied/hf", "", "golden-long.json"},
		{"mistral/hf", "config-swa16.json", "golden-swa16-f64.json"},
	}
	for _, name := range []string{"llama-mha", "llama3-gqa-tied", "smollm2", "falcon3", "mistral"} {
		tests = append(tests, test{name + "/hf", "", "golden.json"})
	}
	all, err := filepath.Glob(filepath.Join(dir, "*", "golden-hf-f64.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		name := filepath.Base(filepath.Dir(path))
		tests = append(tests, test{name + "/hf", "", "golden-hf-f64.json"})
		if isFile(filepath.Join(filepath.Dir(path), "hf", "config-v5.json")) {
			tests = append(tests, test{name + "/hf", "config-v5.json", "golden-hf-f64.json"})
		}
	}
	for _, tt := range tests {
		t.Run(strings.Join([]string{tt.dir, tt.config, tt.golden}, " "), func(t *testing.T) {
			at := filepath.Join(dir, filepath.FromSlash(tt.dir))
			config := ""
			if tt.config != "" {
				config = filepath.Join(at, tt.config)
			}
			set := openHF(t, at, config)
			g := readGolden(t, filepath.Join(filepath.Dir(at), tt.golden))
			limit := 1e-4
			switch {
			case len(g.Last) == 0:
				r := newRunnerOf(t, openModel(t, set), quant.F32, func(_ model.LM, _ *graph.Builder, h graph.Value) graph.Value { return h })
				compareRows(t, r, g.Prompt, byPosition(t, g.Rows), limit)
				return
			case len(g.Greedy) == 0:
				compareLogits(t, set, g, limit)
				return
			case len(g.Prompt) > 100:
				limit = 2e-4
			}
			compare(t, set, g, limit, 1e-2)
		})
	}
}

// compareLogits is compare for a golden without generated tokens.
func compareLogits(t *testing.T, set *weights.Set, g *golden, limit float64) {
	t.Helper()
	compareRows(t, newRunner(t, set, quant.F32), g.Prompt, g.logits(t), limit)
}

// TestHFErrors holds what a directory cannot have.
func TestHFErrors(t *testing.T) {
	const base = `"hidden_size":8,"num_hidden_layers":1,"num_attention_heads":1,"max_position_embeddings":8,"rms_norm_eps":1e-5,"intermediate_size":8`
	for _, tt := range []struct {
		name, config, tensor string
		is                   error
		want                 string
	}{
		{"no config", "", "", model.ErrFormat, "no config.json"},
		{"not JSON", "{", "", model.ErrFormat, "config.json"},
		{"unknown type", `{"model_type":"rwkv6"}`, "", model.ErrUnsupported, `model_type "rwkv6" is not known; quern knows `},
		{"quantised", `{"model_type":"llama","quantization_config":{"quant_method":"gptq"},` + base + `}`, "", model.ErrUnsupported, `quantised with "gptq"`},
		{"unknown scaling", `{"model_type":"llama","rope_scaling":{"rope_type":"fancy"},` + base + `}`, "", model.ErrUnsupported, `rope scaling "fancy"`},
		{"scaling without factor", `{"model_type":"llama","rope_scaling":{"rope_type":"linear"},` + base + `}`, "", model.ErrFormat, "factor"},
		{"unknown tensor", `{"model_type":"llama",` + base + `}`, "model.layers.0.self_attn.lora_A", model.ErrUnsupported, "lora_A"},
		{"layer beyond reason", `{"model_type":"llama",` + base + `}`, "model.layers.99999999.mlp.up_proj.weight", model.ErrUnsupported, "99999999"},
		{"expert missing", `{"model_type":"mixtral",` + base + `}`, "model.layers.0.block_sparse_moe.experts.1.w1.weight", model.ErrFormat, "expert 0 is missing"},
		{"missing tensors", `{"model_type":"llama",` + base + `}`, "model.embed_tokens.weight", model.ErrFormat, "is missing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := &weights.Set{Source: weights.SafeTensors}
			if tt.config != "" {
				set.Meta.Set("hf.config", tt.config)
			}
			if tt.tensor != "" {
				if err := set.Add(&weights.Tensor{Name: tt.tensor, Type: quant.F32, Shape: []int{8, 8}, Data: make([]byte, 256)}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := model.Open(set); !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Open: %v; want %q and %v", err, tt.want, tt.is)
			}
		})
	}
	set := &weights.Set{Source: weights.SafeTensors}
	set.Meta.Set("hf.config", `{"model_type":"llama",`+base+`}`)
	set.AddRaw(&weights.Raw{Name: "embeddings.position_ids", DType: "I64"})
	set.AddRaw(&weights.Raw{Name: "model.embed_tokens.weight", DType: "I8"})
	if _, err := model.Open(set); !errors.Is(err, model.ErrUnsupported) || !strings.Contains(err.Error(), "model.embed_tokens.weight is I8") {
		t.Errorf("8-bit weights: %v", err)
	}
}

// Falcon's larger models group the rows of queries, keys and values by
// key-value head; GGUF files have all queries first.
func TestTranslateFalconGroups(t *testing.T) {
	set := &weights.Set{Source: weights.SafeTensors}
	set.Meta.Set("hf.config", `{"model_type":"falcon","new_decoder_architecture":true,"hidden_size":4,"num_hidden_layers":1,"num_attention_heads":4,"num_kv_heads":2}`)
	// Two groups of two query heads, a key head and a value head, of one row
	// of one byte pair each.
	data := []byte("q0q1k0v0q2q3k1v1")
	if err := set.Add(&weights.Tensor{Name: "transformer.h.0.self_attention.query_key_value.weight", Type: quant.F16, Shape: []int{8, 1}, Data: data}); err != nil {
		t.Fatal(err)
	}
	got, err := model.Translate(set)
	if err != nil {
		t.Fatal(err)
	}
	w, ok := got.Tensor("blk.0.attn_qkv.weight")
	if !ok || w.Data != nil {
		t.Fatalf("%+v before Fill, want no data", w)
	}
	if err := set.Fill(); err != nil {
		t.Fatal(err)
	}
	if string(w.Data) != "q0q1q2q3k0k1v0v1" {
		t.Errorf("%q, want queries, keys, values", w.Data)
	}
}
