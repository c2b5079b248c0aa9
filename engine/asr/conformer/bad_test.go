package conformer

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/engine/asr/heard"
	fonnx "quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
)

// Every file of both layouts is one of a model, and so is the folder; graphs are found
// by what they do, not by their names.
func TestFound(t *testing.T) {
	for _, layout := range []string{"parakeet-sherpa", "parakeet-onnx-asr"} {
		dir := fixtures.Path(t, "diarise", "models", layout)
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		paths := []string{dir}
		for _, e := range entries {
			if e.Name() != "config.json" {
				paths = append(paths, filepath.Join(dir, e.Name()))
			}
		}
		for _, p := range paths {
			if !IsModel(p) {
				t.Errorf("%s is no model", p)
			}
		}
		info, err := Describe(dir)
		if err != nil {
			t.Fatal(err)
		}
		if info.Kind != TDT || info.Tokens != 33 || info.Durations != 5 || info.Bands != 128 || info.Longest != 9.6 || info.Frame != 0.08 || info.Number != "F32" ||
			"parakeet-"+strings.TrimSuffix(info.Layout, "-onnx") != layout || info.Size < 200_000 || info.Memory < 150_000 || info.Work <= 0 || info.Architecture() != "nemo-conformer-tdt" {
			t.Errorf("%s: %+v", layout, info)
		}
	}
	other := link(t, "parakeet-sherpa", map[string]string{"tokens.txt": "tokens.txt", "encode.onnx": "encoder.onnx", "predict.onnx": "decoder.onnx", "join.onnx": "joiner.onnx"})
	if !IsModel(other) || open(t, other, OpenOptions{}).Kind != TDT {
		t.Error("graphs of other names are not found")
	}
	// The number type that is named is taken where it is there, else what there is.
	mixed := link(t, "parakeet-onnx-asr", map[string]string{"vocab.txt": "vocab.txt", "encoder-model.onnx": "encoder-model.onnx",
		"encoder-model.int8.onnx": "encoder-model.onnx", "decoder_joint-model.int8.onnx": "decoder_joint-model.onnx"})
	for path, want := range map[string]string{"": "encoder-model.onnx", "encoder-model.int8.onnx": "encoder-model.int8.onnx", "decoder_joint-model.int8.onnx": "encoder-model.int8.onnx"} {
		f, err := find(filepath.Join(mixed, path))
		if err != nil {
			t.Fatal(err)
		}
		if got := filepath.Base(f.graphs[encoding]); got != want || f.graphs[combined] == "" {
			t.Errorf("of %q the encoder is %s, want %s", path, got, want)
		}
	}
	for _, not := range []string{"diarise/signals", "diarise/models", "whisper"} {
		if IsModel(fixtures.Path(t, strings.Split(not, "/")...)) {
			t.Errorf("%s is a model", not)
		}
	}
}

// external writes a graph whose weights are in a file that is not there.
func external() []byte {
	b := onnxtest.New(17)
	x := b.Input("sound", fonnx.Float, "B", toyBands, "T")
	n := b.Input("n", fonnx.Int64, "B")
	w := onnxtest.FloatTensor([]int{1, toyBands, 1}, make([]float32, toyBands)...)
	y := b.Node("Add", []string{x, b.Weight(w)})
	b.Output("states", y, fonnx.Float, "B", toyBands, "T")
	b.Output("count", n, fonnx.Int64, "B")
	return onnxtest.MarshalBeside(&b.Model, func(t *fonnx.Tensor) *onnxtest.Place {
		return &onnxtest.Place{File: "encoder.weights", Length: int64(len(t.Data))}
	})
}

// Files that do not make a model are refused with what is wrong with them.
func TestBadFiles(t *testing.T) {
	pieces := func(n int, blank string) []byte {
		var list []string
		for i := range n - 1 {
			list = append(list, marker+string(rune('a'+i%26))+strings.Repeat("x", i/26))
		}
		return tokensFile(append(list, blank)...)
	}
	good := map[string]string{"vocab.txt": "vocab.txt", "encoder-model.onnx": "encoder-model.onnx", "decoder_joint-model.onnx": "decoder_joint-model.onnx"}
	without := func(name string) map[string]string {
		m := make(map[string]string)
		for k, v := range good {
			if k != name {
				m[k] = v
			}
		}
		return m
	}
	for _, tt := range []struct {
		name  string
		links map[string]string
		files map[string][]byte
		says  string
	}{
		{"fewer tokens than the joint gives", without("vocab.txt"), map[string][]byte{"vocab.txt": pieces(5, "<blk>")}, "made for 33"},
		{"more tokens than the joint gives", without("vocab.txt"), map[string][]byte{"vocab.txt": pieces(60, "<blk>")}, "made for 33"},
		{"no blank", without("vocab.txt"), map[string][]byte{"vocab.txt": pieces(33, "x")}, "no token <blk>"},
		{"a token twice", without("vocab.txt"), map[string][]byte{"vocab.txt": []byte("a 0\nb 1\nc 1\n")}, "token 1 is there twice"},
		{"a token is missing", without("vocab.txt"), map[string][]byte{"vocab.txt": []byte("a 0\nb 2\nc 3\n\n")}, "no token 1"},
		{"a token beyond all", without("vocab.txt"), map[string][]byte{"vocab.txt": []byte("a 0\nb 99999999\n")}, "token 99999999 of"},
		{"no number", without("vocab.txt"), map[string][]byte{"vocab.txt": []byte("a 0\nbc\n")}, `"bc"`},
		{"no decoder", without("decoder_joint-model.onnx"), map[string][]byte{"config.json": []byte(`{"model_type":"nemo-conformer-tdt"}`)}, "the folder has encoder-model.onnx; a recogniser is"},
		{"an encoder that is cut short", without("encoder-model.onnx"), map[string][]byte{"encoder-model.onnx": []byte("\x08\x08\x3a\xff\xff\x01")}, "encoder-model.onnx: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := link(t, "parakeet-onnx-asr", tt.links)
			write(t, dir, tt.files)
			if !IsModel(dir) {
				t.Error("it is not taken for a model, so nothing is said")
			}
			m, err := Open(t.Context(), dir, OpenOptions{Compile: compiler(t)})
			if err == nil {
				m.Close()
				t.Fatal("it is opened")
			}
			if !strings.Contains(err.Error(), tt.says) || !errors.Is(err, ErrFormat) && !errors.Is(err, ErrUnsupported) {
				t.Errorf("it says %q, want %q", err, tt.says)
			}
		})
	}
}

// Without sherpa's metadata the width of the joint tells.
func TestTokensOfAnotherModel(t *testing.T) {
	for _, n := range []int{3, 80} {
		dir := toyTransducer(t, 40, 2, make([]float32, 40*42))
		var list []string
		for i := range n {
			list = append(list, marker+strings.Repeat("x", i))
		}
		write(t, dir, map[string][]byte{"vocab.txt": tokensFile(append(list, "<blk>")...)})
		if _, err := Open(t.Context(), dir, OpenOptions{Compile: compiler(t)}); err == nil || !strings.Contains(err.Error(), "the joint gives 42 numbers: they do not belong together") {
			t.Errorf("%d tokens: %v", n, err)
		}
	}
}

// A file of weights that is not there is named.
func TestMissingWeights(t *testing.T) {
	dir := toyTransducer(t, 3, 2, make([]float32, 15))
	write(t, dir, map[string][]byte{"encoder-model.onnx": external()})
	if !IsModel(dir) {
		t.Error("it is not taken for a model, so nothing is said")
	}
	if _, err := Open(t.Context(), dir, OpenOptions{Compile: compiler(t)}); err == nil || !strings.Contains(err.Error(), "encoder.weights") {
		t.Errorf("%v; want encoder.weights in it", err)
	}
}

// Other families that sherpa-onnx runs are not taken for NeMo's.
func TestOtherFamilies(t *testing.T) {
	dir := toyTransducer(t, 3, 2, make([]float32, 15))
	m, err := fonnx.Open(filepath.Join(dir, "encoder-model.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	m.Meta = map[string]string{"model_type": "zipformer2"}
	data := onnxtest.Marshal(m)
	m.Close()
	write(t, dir, map[string][]byte{"encoder-model.onnx": data})
	if IsModel(dir) {
		t.Error("a Zipformer is taken for a model of NeMo's")
	}
	// A vocabulary of another kind, beside a graph: a text encoder.
	bert := t.TempDir()
	write(t, bert, map[string][]byte{"vocab.txt": []byte("[PAD]\n[UNK]\nthe\n"), "model.onnx": toyEncoder(nil)})
	if IsModel(bert) {
		t.Error("a text encoder is taken for a recogniser")
	}
}

// An encoder of other features is refused by how many it takes, before it runs.
func TestOtherBands(t *testing.T) {
	for _, shape := range [][]any{{"B", 64, "T"}, {"B", "T", 64}} {
		dir := toyTransducer(t, 3, 2, make([]float32, 15))
		b := onnxtest.New(17)
		x := b.Input("sound", fonnx.Float, shape...)
		n := b.Input("n", fonnx.Int64, "B")
		b.Output("states", x, fonnx.Float, shape...)
		b.Output("count", n, fonnx.Int64, "B")
		write(t, dir, map[string][]byte{"encoder-model.onnx": b.Bytes()})
		if _, err := Describe(dir); err == nil || !strings.Contains(err.Error(), "an encoder of 64 bands") {
			t.Errorf("%v: %v", shape, err)
		}
	}
}

// A window beyond the positions is refused before it runs, with both lengths.
func TestBeyondPositions(t *testing.T) {
	m := open(t, fixtures.Path(t, "diarise", "models", "parakeet-sherpa"), OpenOptions{})
	w := &window{features: make([]float32, 1000*128), frames: 1000}
	if err := m.encoder.run(t.Context(), []*window{w}); err == nil || !strings.Contains(err.Error(), "10.0 s, and the positions of the encoder end at 9.6 s") {
		t.Errorf("%v", err)
	}
	w.frames, w.features = 960, w.features[:960*128]
	if err := m.encoder.run(t.Context(), []*window{w}); err != nil || w.states.frames != 120 {
		t.Errorf("the longest window: %v", err)
	}
}

// Pieces that are spaces, bytes, and none of a text.
func TestVocabulary(t *testing.T) {
	v, err := parseVocabulary([]byte("\ufeff<unk> 0\r\n" + marker + "a 1\r\n  2\r\n<0xC3> 3\n<0xB6> 4\n<|en|> 5\nb c 6\n<blk> 7"))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"", " a", " ", "\xc3", "\xb6", "", "b c", ""}; !slices.Equal(v.bytes, want) || v.blank != 7 {
		t.Errorf("%q, blank %d; want %q", v.bytes, v.blank, want)
	}
	for pieces, want := range map[string]string{
		marker + "the 0\n' 1\n<blk> 2":           "en",
		marker + "the 0\nж 1\nλ 2\né 3\n<blk> 4": strings.Join(europe, " "),
		marker + "the 0\nö 1\n<blk> 2":           "",
		marker + "日本 0\nж 1\nλ 2\n<blk> 3":       "",
		marker + "µ 0\nж 1\nλ 2\né 3\n<blk> 4":   strings.Join(europe, " "),
	} {
		v, err := parseVocabulary([]byte(pieces))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(v.languages(false, nil), " "); got != want {
			t.Errorf("of %q the languages are %q, want %q", pieces, got, want)
		}
	}
}

// A Canary speaks the languages it was trained on, though it has pieces for more; one that has
// few, those.
func TestCanaryLanguages(t *testing.T) {
	all := strings.Fields("aa zh da de en es fr ja ko no af sq ar hy eu be bn bs bg ca hr cs nl et fi el hu it lv")
	for _, tt := range []struct {
		pieces, named []string
		want          string
	}{
		{[]string{marker + "Mühle", "é", "ñ"}, all, "de en es fr"},
		{[]string{marker + "Mühle", "ж", "λ"}, all, "da de en es fr bg hr cs nl et fi el hu it lv"},
		{[]string{marker + "Mühle", "日"}, all, strings.Join(all[1:], " ")},
		{[]string{marker + "mill"}, []string{"en", "it"}, "en it"},
	} {
		pieces := tt.pieces
		for _, code := range tt.named {
			pieces = append(pieces, "<|"+code+"|>")
		}
		v, err := parseVocabulary(tokensFile(pieces...))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(v.languages(true, func(code string) bool { return heard.LanguageName(code) != "" }), " "); got != tt.want {
			t.Errorf("%q of %d: %s, want %s", tt.pieces, len(tt.named), got, tt.want)
		}
	}
}

func FuzzVocabulary(f *testing.F) {
	f.Add([]byte("a 0\nb 1\n<blk> 2\n"))
	f.Add([]byte("  0\n<0xFF> 1\n"))
	f.Add([]byte("a 18446744073709551616\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := parseVocabulary(data)
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Fatal(err)
			}
			return
		}
		if len(v.pieces) != len(v.bytes) || v.blank >= len(v.pieces) {
			t.Fatalf("%d pieces, %d texts, blank %d", len(v.pieces), len(v.bytes), v.blank)
		}
		v.languages(true, func(string) bool { return true })
	})
}

// A CTC whose graph gives more numbers than there are tokens, which it does not declare.
func TestUndeclaredWidth(t *testing.T) {
	dir := t.TempDir()
	b := onnxtest.New(17)
	x := b.Input("sound", fonnx.Float, "B", toyBands, "T")
	b.Input("n", fonnx.Int64, "B")
	b.Output("logprobs", b.Node("Transpose", []string{everyEighth(b, x, 2)}, onnxtest.IntList("perm", 0, 2, 1)), fonnx.Float, "B", "T2", "V")
	write(t, dir, map[string][]byte{"tokens.txt": tokensFile("a", "b", "<blk>"), "model.onnx": b.Bytes()})
	if _, err := Open(t.Context(), dir, OpenOptions{Compile: compiler(t)}); err == nil || !strings.Contains(err.Error(), "do not belong together") {
		t.Errorf("%v", err)
	}
	// And one that says nothing of any sound.
	b = onnxtest.New(17)
	x = b.Input("sound", fonnx.Float, "B", toyBands, "T")
	n := b.Input("n", fonnx.Int64, "B")
	b.Output("states", x, fonnx.Float, "B", toyBands, "T")
	b.Output("count", b.Node("Sub", []string{n, n}), fonnx.Int64, "B")
	dir = toyTransducer(t, 3, 2, make([]float32, 15))
	write(t, dir, map[string][]byte{"encoder-model.onnx": b.Bytes()})
	if _, err := Open(t.Context(), dir, OpenOptions{Compile: compiler(t)}); err == nil || !strings.Contains(err.Error(), "makes nothing of") {
		t.Errorf("%v", err)
	}
}

// Weights that are no numbers end a transcription with words that say so.
func TestNoNumbers(t *testing.T) {
	table := make([]float32, 3*5)
	m := open(t, toyTransducer(t, 3, 2, table), OpenOptions{})
	w := shown([]float32{1, 0, 0})
	w.ctx, w.limit = t.Context(), 10
	w.features[0] = float32(math.NaN())
	m.worker.submit(w)
	<-w.done
	if w.err != errNumbers {
		t.Errorf("%v, %d tokens", w.err, len(w.tokens))
	}
}
