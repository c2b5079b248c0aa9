package serve

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"quern/engine/model"
	fonnx "quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
)

// TestFolder finds graphs by what exporters call them.
func TestFolder(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files []string
		open  string
		main  string // "" when there is none
		past  string
	}{
		{"at the top", []string{"config.json", "model.onnx"}, "", "model.onnx", ""},
		{"in its folder", []string{"config.json", "onnx/model_quantized.onnx", "onnx/model.onnx"}, "", "onnx/model.onnx", ""},
		{"the best variant", []string{"config.json", "onnx/model_q4.onnx", "onnx/model_fp16.onnx", "onnx/model_int8.onnx"}, "", "onnx/model_fp16.onnx", ""},
		{"another name", []string{"config.json", "minilm.onnx"}, "", "minilm.onnx", ""},
		{"the one named", []string{"config.json", "onnx/model.onnx", "onnx/model_q4.onnx"}, "onnx/model_q4.onnx", "onnx/model_q4.onnx", ""},
		{"merged before two", []string{"config.json", "onnx/decoder_model.onnx", "onnx/decoder_with_past_model.onnx", "onnx/decoder_model_merged.onnx"}, "", "onnx/decoder_model_merged.onnx", ""},
		{"two graphs", []string{"config.json", "decoder_model.onnx", "decoder_with_past_model.onnx"}, "", "decoder_model.onnx", "decoder_with_past_model.onnx"},
		{"SafeTensors beside", []string{"config.json", "model.safetensors", "onnx/model.onnx"}, "", "", ""},
		{"nothing", []string{"config.json"}, "", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, f := range tt.files {
				at := filepath.Join(dir, filepath.FromSlash(f))
				if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at, []byte("{}"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			f, ok, err := find(filepath.Join(dir, filepath.FromSlash(tt.open)))
			if err != nil || ok != (tt.main != "") {
				t.Fatalf("found %v, %v", ok, err)
			}
			rel := func(path string) string {
				if path == "" {
					return ""
				}
				r, err := filepath.Rel(dir, path)
				if err != nil {
					t.Fatal(err)
				}
				return filepath.ToSlash(r)
			}
			if ok && (rel(f.main) != tt.main || rel(f.past) != tt.past || f.dir != dir) {
				t.Errorf("got %q, %q in %q, want %q, %q in %q", rel(f.main), rel(f.past), f.dir, tt.main, tt.past, dir)
			}
		})
	}
}

// FuzzConfig: whatever the texts beside a graph say, what is made of them is
// within bounds, or an error that is known.
func FuzzConfig(f *testing.F) {
	f.Add(`{"model_type":"bert","architectures":["BertModel"],"vocab_size":64,"max_position_embeddings":16}`, `{"model_max_length":1e30}`, `{"pooling_mode_cls_token":true}`, `[{"type":"x.Pooling"}]`)
	f.Add(`{"model_type":"roberta","architectures":["XForSequenceClassification"],"id2label":{"0":""},"pad_token_id":1}`, `{"max_seq_length":-1}`, `{"pooling_mode_":1}`, `[{}]`)
	f.Add(`{"architectures":[],"max_position_embeddings":2}`, `{"model_max_length":0.5}`, `[`, `{}`)
	b := onnxtest.New(17)
	b.Output("logits", b.Input("input_ids", fonnx.Int64, "batch", "tokens"), fonnx.Int64, "batch", 1)
	graph, err := fonnx.Parse(b.Bytes(), nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, config, tokenizer, pooling, modules string) {
		h := &Head{graph: graph, modules: []byte(modules)}
		h.Meta.Set("hf.tokenizer_config", tokenizer)
		h.Meta.Set("hf.pooling", pooling)
		if json.Unmarshal([]byte(config), &h.config) != nil {
			return
		}
		if n := h.context(); n < 1 || n > maxPositions {
			t.Errorf("a context of %d", n)
		}
		known := func(err error) {
			if err != nil && !errors.Is(err, model.ErrFormat) && !errors.Is(err, model.ErrUnsupported) {
				t.Errorf("error %v wraps no sentinel", err)
			}
		}
		kind, err := h.findKind()
		known(err)
		if err == nil && kind == "" {
			t.Errorf("a model of kind %q", kind)
		}
		pool, err := h.pooling(false)
		known(err)
		if err == nil {
			dst := make([]float32, 2)
			if pool(dst, []float32{1, 2, 1, 2}); slices.ContainsFunc(dst, func(x float32) bool { return math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) }) {
				t.Errorf("pooled to %v", dst)
			}
		}
	})
}
