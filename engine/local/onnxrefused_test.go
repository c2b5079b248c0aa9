package local

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quern/engine"
	fonnx "quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
)

// TestONNXRefused: folders that cannot be served say why when they are listed or
// loaded.
func TestONNXRefused(t *testing.T) {
	classifier := func(labels int, arch string) map[string]any {
		ids := map[string]any{}
		for i := range labels {
			ids[fmt.Sprint(i)] = "l"
		}
		return map[string]any{"model_type": "bert", "architectures": []string{arch}, "id2label": ids, "vocab_size": 64}
	}
	logits := func(width int) func(*onnxtest.Builder, string) {
		return func(b *onnxtest.Builder, rows string) {
			b.Output("logits", rows, fonnx.Float, "batch", width)
		}
	}
	for _, tt := range []struct {
		name, says string
		dir        string
	}{
		{"a regression", "a regression of 3 numbers", rowsModel(t, func() map[string]any {
			c := classifier(3, "BertForSequenceClassification")
			c["problem_type"] = "regression"
			return c
		}(), nil, logits(3))},
		{"a decoder of images", `an input "pixel_values"`, rowsModel(t, classifier(1, "GPT2LMHeadModel"), nil, func(b *onnxtest.Builder, rows string) {
			b.Input("pixel_values", fonnx.Float, "batch", 3, "height", "width")
			b.Output("logits", rows, fonnx.Float, "batch", "tokens", 3)
		})},
		{"logits that are too few", "a vocabulary of 64 tokens with logits of 3", rowsModel(t, classifier(1, "GPT2LMHeadModel"), nil, func(b *onnxtest.Builder, rows string) {
			b.Output("logits", rows, fonnx.Float, "batch", "tokens", 3)
		})},
		{"a missing operator", "missing operators com.example.Fancy", rowsModel(t, nil, nil, func(b *onnxtest.Builder, rows string) {
			b.Output("last_hidden_state", b.Node("com.example.Fancy", []string{rows}), fonnx.Float, "batch", "tokens", 3)
		})},
		{"Kokoro as a graph", "hexgrad/Kokoro-82M", rowsModel(t, nil, nil, func(b *onnxtest.Builder, rows string) {
			b.Input("style", fonnx.Float, 1, 256)
			b.Output("waveform", rows, fonnx.Float, "batch", "tokens", 3)
		})},
		{"an unknown input", `an input "pixel_values"`, rowsModel(t, nil, nil, func(b *onnxtest.Builder, rows string) {
			b.Input("pixel_values", fonnx.Float, "batch", 3, "height", "width")
			b.Output("last_hidden_state", rows, fonnx.Float, "batch", "tokens", 3)
		})},
		{"a layer after pooling", "Dense", rowsModel(t, nil, map[string]any{"modules.json": []any{map[string]any{"type": "sentence_transformers.models.Dense"}}}, nil)},
		{"two poolings", "poolings", rowsModel(t, nil, map[string]any{"1_Pooling/config.json": map[string]any{"pooling_mode_cls_token": true, "pooling_mode_max_tokens": true}}, nil)},
		{"no vectors", "no output", rowsModel(t, nil, nil, logits(3))},
		{"a config that is none", "config.json", rowsModel(t, nil, map[string]any{"config.json": []byte("[")}, nil)},
		{"a graph that is none", "malformed", rowsModel(t, nil, map[string]any{"model.onnx": []byte("\x08\x08")}, nil)},
		{"several graphs", "a.onnx, b.onnx", func() string {
			dir := rowsModel(t, nil, map[string]any{"a.onnx": []byte{}, "b.onnx": []byte{}}, nil)
			os.Remove(filepath.Join(dir, "model.onnx"))
			return dir
		}()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, err := New(engine.Options{Models: []engine.ModelOptions{{Name: "m", Path: tt.dir}}, Threads: 1})
			if err == nil {
				defer e.Close()
				err = e.Load(t.Context(), "m")
			}
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want one about %q", err, tt.says)
			}
		})
	}
}
