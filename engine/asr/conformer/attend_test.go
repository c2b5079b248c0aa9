package conformer

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"quern/engine/asr"
	"quern/engine/asr/audio"
	fonnx "quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
)

// canaryPieces are tokens of a Canary that speaks two languages. The fifteenth is written where
// the target is German.
var canaryPieces = []string{" ", "<|startofcontext|>", "<|startoftranscript|>", "<|emo:undefined|>", "<|en|>", "<|de|>", "<|pnc|>", "<|nopnc|>", "<|noitn|>",
	"<|notimestamp|>", "<|nodiarize|>", "<|endoftext|>", marker + "mill", marker + "stone", marker + "Mühle", "."}

// bump is a table that makes German of a text: row <|de|> prefers Mühle.
func bump(b *onnxtest.Builder, ids string) string {
	n := len(canaryPieces)
	table := make([]float32, n*n)
	table[5*n+14] = 100
	table[7*n+13] = 50 // without punctuation it says stone
	return b.Node("Gather", []string{b.Floats([]int{n, n}, table...), ids})
}

// toyCanary writes a Canary whose token k is that of frame k, as far as the numbers of tokens
// it was given and of what it kept say that it is at k.
func toyCanary(t testing.TB, sherpa bool) string {
	dir := t.TempDir()
	if sherpa {
		write(t, dir, map[string][]byte{"tokens.txt": tokensFile(canaryPieces...), "encoder.int8.onnx": canaryEncoder(true), "decoder.int8.onnx": canaryPairs()})
	} else {
		write(t, dir, map[string][]byte{
			"vocab.txt": tokensFile(canaryPieces...), "encoder-model.onnx": canaryEncoder(false), "decoder-model.onnx": canaryDecoder(),
			"config.json": []byte(`{"model_type": "nemo-conformer-aed", "features_size": 80, "subsampling_factor": 8}`),
		})
	}
	return dir
}

func canaryEncoder(timeFirst bool) []byte {
	b := onnxtest.New(17)
	var y string
	if timeFirst {
		y = everyEighth(b, b.Input("x", fonnx.Float, "N", "T", toyBands), 1)
	} else {
		y = b.Node("Transpose", []string{everyEighth(b, b.Input("x", fonnx.Float, "N", toyBands, "T"), 2)}, onnxtest.IntList("perm", 0, 2, 1))
	}
	n := b.Input("x_len", fonnx.Int64, "N")
	b.Output("enc_states", y, fonnx.Float, "N", "T2", toyBands)
	if timeFirst {
		b.Output("enc_len", b.Node("Div", []string{b.Node("Add", []string{n, b.Ints(nil, 7)}), b.Ints(nil, 8)}), fonnx.Int64, "N")
	}
	ones := b.Node("ReduceMax", []string{b.Node("Mul", []string{y, b.Floats(nil, 0)})}, onnxtest.IntList("axes", 2), onnxtest.Int("keepdims", 0))
	elem, to := fonnx.Int64, int64(7)
	if timeFirst {
		elem, to = fonnx.Bool, 9
	}
	b.Output("enc_mask", b.Node("Cast", []string{b.Node("Add", []string{ones, b.Floats(nil, 1)})}, onnxtest.Int("to", to)), elem, "N", "T2")
	return b.Bytes()
}

// frameAt reads the frame of a place, or the last, as logits of the tokens.
func frameAt(b *onnxtest.Builder, states, place string) string {
	n := b.Node("Sub", []string{b.Node("Gather", []string{b.Node("Shape", []string{states}), b.Ints(nil, 1)}), b.Ints(nil, 1)})
	at := b.Node("Min", []string{b.Node("Max", []string{place, b.Ints(nil, 0)}), n})
	row := b.Node("Gather", []string{states, b.Node("Unsqueeze", []string{at, b.List(0)})}, onnxtest.Int("axis", 1))
	return b.Node("MatMul", []string{row, identity(b, len(canaryPieces))})
}

func canaryDecoder() []byte {
	b := onnxtest.New(17)
	ids := b.Input("input_ids", fonnx.Int64, "B", "n")
	states := b.Input("encoder_embeddings", fonnx.Float, "B", "T", toyBands)
	b.Input("encoder_mask", fonnx.Int64, "B", "T")
	mems := b.Input("decoder_mems", fonnx.Float, 2, "B", "past", 4)
	rows := b.Node("Unsqueeze", []string{b.Node("Cast", []string{ids}, onnxtest.Int("to", 1)), b.List(0, 3)})
	rows = b.Node("Mul", []string{rows, b.Floats([]int{2, 1, 1, 4}, 1, 1, 1, 1, 1, 1, 1, 1)})
	kept := b.Node("Concat", []string{mems, rows}, onnxtest.Int("axis", 2))
	count := b.Node("Gather", []string{b.Node("Shape", []string{kept}), b.Ints(nil, 2)})
	logits := frameAt(b, states, b.Node("Sub", []string{count, b.Ints(nil, 10)})) // behind a prompt of ten
	// What stands at places 5 (target) and 6 (punctuation) of all that was read.
	for _, place := range []int64{5, 6} {
		v := b.Node("Gather", []string{kept, b.Ints([]int{1}, place)}, onnxtest.Int("axis", 2))
		id := b.Node("Cast", []string{b.Node("ReduceMax", []string{v}, onnxtest.Int("keepdims", 0))}, onnxtest.Int("to", 7))
		logits = b.Node("Add", []string{logits, b.Node("Unsqueeze", []string{bumpOnce(b, id, count), b.List(0, 1)})})
	}
	b.Output("logits", logits, fonnx.Float, "B", 1, len(canaryPieces))
	b.Output("decoder_hidden_states", kept, fonnx.Float, 2, "B", "now", 4)
	return b.Bytes()
}

// bumpOnce is the bump of a token where nothing but the prompt was read.
func bumpOnce(b *onnxtest.Builder, id, count string) string {
	first := b.Node("Cast", []string{b.Node("Equal", []string{count, b.Ints(nil, 10)})}, onnxtest.Int("to", 1))
	return b.Node("Mul", []string{bump(b, id), first})
}

func canaryPairs() []byte {
	b := onnxtest.New(17)
	pair := b.Input("decoder_input_ids", fonnx.Int32, 1, 2)
	m0, m1 := b.Input("decoder_mems_list_0", fonnx.Float, 1, "past", 4), b.Input("decoder_mems_list_1", fonnx.Float, 1, "past", 4)
	states := b.Input("enc_states", fonnx.Float, 1, "T", toyBands)
	b.Input("enc_mask", fonnx.Bool, 1, "T")
	one := func(i int64) string {
		return b.Node("Cast", []string{b.Node("Gather", []string{b.Node("Squeeze", []string{pair, b.List(0)}), b.Ints(nil, i)})}, onnxtest.Int("to", 7))
	}
	id, place := one(0), one(1)
	row := b.Node("Mul", []string{b.Node("Cast", []string{id}, onnxtest.Int("to", 1)), b.Floats([]int{1, 1, 4}, 1, 1, 1, 1)})
	k0, k1 := b.Node("Concat", []string{m0, row}, onnxtest.Int("axis", 1)), b.Node("Concat", []string{m1, row}, onnxtest.Int("axis", 1))
	count := b.Node("Gather", []string{b.Node("Shape", []string{k1}), b.Ints(nil, 1)})
	// Both the place that was told and what is kept say which token is next.
	at := b.Node("Div", []string{b.Node("Sub", []string{b.Node("Add", []string{count, place}), b.Ints(nil, 17)}), b.Ints(nil, 2)})
	b.Output("logits", frameAt(b, states, at), fonnx.Float, 1, 1, len(canaryPieces))
	b.Output("next_0", k0, fonnx.Float, 1, "now", 4)
	b.Output("next_1", k1, fonnx.Float, 1, "now", 4)
	return b.Bytes()
}

// says is a window whose frames say tokens.
func says(list ...int) *window {
	var rows [][]float32
	for _, id := range list {
		row := make([]float32, len(canaryPieces))
		row[id] = 10
		rows = append(rows, row)
	}
	return shown(rows...)
}

// Both layouts of Canary write what the frames say up to the end of the text, behind the
// prompt of the request.
func TestCanary(t *testing.T) {
	for _, sherpa := range []bool{false, true} {
		m := open(t, toyCanary(t, sherpa), OpenOptions{})
		if m.Kind != AED || !slices.Equal(m.languages, []string{"en", "de"}) || m.timeFirst != sherpa || m.batches == "" {
			t.Fatalf("%s, languages %q, time first %v, batches %q", m.Kind, m.languages, m.timeFirst, m.batches)
		}
		for _, tt := range []struct {
			name string
			o    asr.Options
			want []int
		}{
			{"transcribed", asr.Options{Language: "en"}, []int{12, 13, 15}},
			{"translated", asr.Options{Language: "English", Target: "de"}, []int{14, 13, 15}},
			{"without punctuation", asr.Options{Language: "en", NoPunctuation: true}, []int{13, 13, 15}},
		} {
			r, err := m.resolved(tt.o)
			if err != nil {
				t.Fatal(err)
			}
			if want := map[bool]int{false: 10, true: 9}[sherpa]; len(r.prompt) != want {
				t.Errorf("a prompt of %d tokens, want %d", len(r.prompt), want)
			}
			if sherpa && tt.name != "transcribed" {
				continue // that toy does not look at it
			}
			w := says(12, 13, 15, 11, 12)
			w.prompt = r.prompt
			decoded(t, m, w)
			if !slices.Equal(ids(w.tokens), tt.want) {
				t.Errorf("sherpa %v, %s: %v, want %v", sherpa, tt.name, ids(w.tokens), tt.want)
			}
		}
		// Without an end the text is as long as is allowed.
		w := says(12)
		w.prompt, _ = m.prompt("en", "", true)
		w.ctx, w.limit = t.Context(), 7
		if err := m.encoder.run(t.Context(), []*window{w}); err != nil {
			t.Fatal(err)
		}
		if err := m.decoder.decode(t.Context(), []*window{w}); err != nil || len(w.tokens) != 7 {
			t.Errorf("%d tokens, want 7; %v", len(w.tokens), err)
		}
	}
}

// What Canary is not told, or cannot do, is refused by name.
func TestCanaryRefuses(t *testing.T) {
	m := open(t, toyCanary(t, false), OpenOptions{})
	for _, tt := range []struct {
		o          asr.Options
		name, says string
	}{
		{asr.Options{}, "language", "en, de"},
		{asr.Options{Language: "fr"}, "language", "does not know language"},
		{asr.Options{Language: "en", Target: "fr"}, "target_language", "en, de"},
		{asr.Options{Language: "en", Words: true}, "words", "does not time words"},
		{asr.Options{Language: "en", Beams: 2}, "beam_size", "one hypothesis"},
	} {
		read := &audio.Counter{Source: new(audio.Samples)}
		for _, err := range m.Transcribe(t.Context(), read, tt.o) {
			var named *asr.OptionError
			if !errors.As(err, &named) || named.Name != tt.name || !strings.Contains(err.Error(), tt.says) || !errors.Is(err, asr.ErrOptions) {
				t.Errorf("%+v: %v; want %s refused", tt.o, err, tt.name)
			}
		}
	}
	if !m.Translates() {
		t.Error("it translates")
	}
}
