package local

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"testing"

	"quern/bench/fixtures"
	"quern/engine"
	"quern/engine/asr"
	"quern/engine/asr/audio"
	fonnx "quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
	"quern/formats/safetensors"
	"quern/kernels/quant"
)

// whisper records the decoder of hf_tiny with keys and values of the past. With
// s.branch one graph does both, the start of a text and what follows; without
// s.past it is the graph for the start.
func (x *exporter) whisper(s style) {
	const heads, hidden, dim, layers = 4, 64, 16, 2
	ids := x.Input("input_ids", fonnx.Int64, "batch", "tokens")
	states := x.Input("encoder_hidden_states", fonnx.Float, "batch", "places", hidden)
	positions := x.Input("cache_position", fonnx.Int64, "tokens")
	if s.branch {
		x.Input("use_cache_branch", fonnx.Bool, 1)
	}
	norm := func(v, name string) string {
		return x.Node("LayerNormalization", []string{v, x.weight(name+".weight", false), x.weight(name+".bias", false)}, onnxtest.Int("axis", -1), onnxtest.Float("epsilon", 1e-5))
	}
	embed := "model.decoder.embed_tokens.weight"
	h := x.op("Add", x.op("Gather", x.weight(embed, false), ids), x.op("Gather", x.weight("model.decoder.embed_positions.weight", false), positions))
	last := x.Node("ReduceMax", []string{positions}, onnxtest.Int("keepdims", 0))
	at := x.op("Range", x.Ints(nil, 0), x.op("Add", last, x.Ints(nil, 1)), x.Ints(nil, 1))
	bias := x.op("Where", x.op("Greater", at, x.op("Unsqueeze", positions, x.List(1))), x.scalar(-1e9), x.scalar(0))
	none := x.scalar(0)
	for i := range layers {
		n := fmt.Sprint(i)
		layer := "model.decoder.layers." + n + "."
		part := func(side, what string, now string) string {
			name := n + "." + side + "." + what
			if s.past {
				before := x.Input("past_key_values."+name, fonnx.Float, "batch", heads, side+"_past", dim)
				switch {
				case side == "decoder":
					now = x.withPast(before, now, s.branch)
				case s.branch:
					now = x.chosen(before, now)
				default:
					now = before
				}
			}
			if side == "decoder" || s.branch || !s.past {
				x.Output("present."+name, now, fonnx.Float, "batch", heads, "now_"+side, dim)
			}
			return now
		}
		y := norm(h, layer+"self_attn_layer_norm")
		q := x.heads(x.linear(y, layer+"self_attn.q_proj"), heads, dim)
		k := part("decoder", "key", x.heads(x.linear(y, layer+"self_attn.k_proj"), heads, dim))
		v := part("decoder", "value", x.heads(x.linear(y, layer+"self_attn.v_proj"), heads, dim))
		h = x.op("Add", h, x.linear(x.attend(q, k, v, bias, heads, dim), layer+"self_attn.out_proj"))

		y = norm(h, layer+"encoder_attn_layer_norm")
		q = x.heads(x.linear(y, layer+"encoder_attn.q_proj"), heads, dim)
		k = part("encoder", "key", x.heads(x.linear(states, layer+"encoder_attn.k_proj"), heads, dim))
		v = part("encoder", "value", x.heads(x.linear(states, layer+"encoder_attn.v_proj"), heads, dim))
		h = x.op("Add", h, x.linear(x.attend(q, k, v, none, heads, dim), layer+"encoder_attn.out_proj"))

		f := x.linear(norm(h, layer+"final_layer_norm"), layer+"fc1")
		f = x.op("Mul", x.op("Mul", f, x.op("Add", x.op("Erf", x.op("Div", f, x.scalar(math.Sqrt2))), x.scalar(1))), x.scalar(0.5))
		h = x.op("Add", h, x.linear(f, layer+"fc2"))
	}
	x.Output("logits", x.op("MatMul", norm(h, "model.decoder.layer_norm"), x.weight(embed, true)), fonnx.Float, "batch", "tokens", 2608)
}

// chosen is past where the past counts, else now.
func (x *exporter) chosen(past, now string) string {
	body := func(name, of string) *fonnx.Graph {
		return &fonnx.Graph{Name: name, Nodes: []*fonnx.Node{onnxtest.NewNode([]string{name}, "Identity", []string{of})},
			Outputs: []fonnx.Value{{Name: name, Type: fonnx.Type{Kind: fonnx.KindTensor, Elem: fonnx.Float}}}}
	}
	return x.Node("If", []string{"use_cache_branch"}, onnxtest.Body("then_branch", body(past+"/before", past)), onnxtest.Body("else_branch", body(past+"/new", now)))
}

// whisperFolder writes hf_tiny as an ONNX folder.
func whisperFolder(t *testing.T, s style) string {
	t.Helper()
	dir := t.TempDir()
	link := func(name string, from ...string) {
		data, err := os.ReadFile(fixtures.Path(t, append([]string{"whisper"}, from...)...))
		if err != nil {
			t.Fatal(err)
		}
		place(t, dir, name, data)
	}
	for _, name := range []string{"config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"} {
		link(name, "hf_tiny", name)
	}
	link("onnx/encoder_model.onnx", "onnx_tiny", "encoder_model.onnx")
	if s.alone {
		link("onnx/decoder_model.onnx", "onnx_tiny", "decoder_model.onnx")
		return dir
	}
	set, err := safetensors.Open(fixtures.Path(t, "whisper", "hf_tiny"))
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	export := func(name string, s style) {
		x := &exporter{onnxtest.New(17), t, set}
		x.whisper(s)
		place(t, dir, name, x.Bytes())
	}
	if s.branch {
		export("onnx/decoder_model_merged.onnx", s)
		return dir
	}
	export("onnx/decoder_model.onnx", style{})
	export("onnx/decoder_with_past_model.onnx", style{past: true})
	return dir
}

// TestONNXTranscribe holds transcripts of ONNX graphs against those of quern's
// own Whisper with the same weights.
func TestONNXTranscribe(t *testing.T) {
	if testing.Short() {
		t.Skip("encodes four windows")
	}
	var models []engine.ModelOptions
	styles := []style{{name: "merged", past: true, branch: true}, {name: "two graphs"}, {name: "no past", alone: true}}
	for _, s := range styles {
		models = append(models, engine.ModelOptions{Name: s.name, Path: whisperFolder(t, s)})
	}
	e := open(t, engine.Options{Models: models})
	data, err := os.ReadFile(fixtures.Path(t, "whisper", "jfk.wav"))
	if err != nil {
		t.Fatal(err)
	}
	var samples audio.Samples
	for data = data[44:]; len(data) > 1; data = data[2:] { // behind the header
		samples = append(samples, float32(int16(binary.LittleEndian.Uint16(data)))/32768)
	}
	o := engine.TranscribeOptions{Language: "en", Temperatures: []float64{0, 0.4}, MaxTokens: 24}
	hear := func(model string) (list []engine.Segment) {
		t.Helper()
		src := samples
		for s, err := range e.Transcribe(t.Context(), model, engine.TranscribeRequest{Source: &src, AllSound: true, TranscribeOptions: o}) {
			if err != nil {
				t.Fatalf("%s: %v", model, err)
			}
			list = append(list, s)
		}
		return list
	}
	// The graphs keep keys and values as float32.
	recorded, err := asr.Open(t.Context(), fixtures.Path(t, "whisper", "hf_tiny"), e.backend, asr.OpenOptions{Cache: quant.F32})
	if err != nil {
		t.Fatal(err)
	}
	defer recorded.Close()
	var want []engine.Segment
	src := samples
	for s, err := range recorded.Transcribe(t.Context(), &src, asr.Options{Language: o.Language, Temperatures: o.Temperatures, MaxTokens: o.MaxTokens, Without: asr.GuardVAD}) {
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, s)
	}
	if len(want) == 0 {
		t.Fatal("nothing is heard")
	}
	for _, s := range styles {
		got := hear(s.name)
		if len(got) != len(want) {
			t.Errorf("%s has %d segments, want %d", s.name, len(got), len(want))
			continue
		}
		for i := range got {
			if !equal(got[i].Tokens, want[i].Tokens) || got[i].Text != want[i].Text {
				t.Errorf("%s transcribes %q, want %q", s.name, got[i].Text, want[i].Text)
			}
		}
	}
	src = samples
	for _, err := range e.Transcribe(t.Context(), "merged", engine.TranscribeRequest{Source: &src, TranscribeOptions: engine.TranscribeOptions{Words: true}}) {
		var wrong *engine.Error
		if !errors.As(err, &wrong) || wrong.Code != engine.CodeUnsupportedParam || wrong.Param != "words" {
			t.Errorf("times of words: %v", err)
		}
	}
}
