package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quern/engine"
	"quern/engine/sample"
	"quern/engine/token"
	"quern/formats/gguf"
	fonnx "quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// asFloats writes a GGUF file with all weights of another as float32.
func asFloats(t *testing.T, from string) string {
	t.Helper()
	set, err := gguf.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	var list []gguf.Stream
	for w := range set.All() {
		x := make([]float32, w.Elems())
		w.Type.Layout().Decode(x, w.Data)
		data := make([]byte, 4*len(x))
		quant.F32.Layout().Encode(data, x)
		list = append(list, gguf.StreamOf(&weights.Tensor{Name: w.Name, Type: quant.F32, Shape: w.Shape, Data: data}))
	}
	var b bytes.Buffer
	if err := gguf.Write(&b, &set.Meta, list); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.gguf")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// bertFolder writes the tiny BERT of the fixtures as an ONNX folder, and returns
// it beside a GGUF file of the same weights.
func bertFolder(t *testing.T) (dir, file string) {
	t.Helper()
	file = asFloats(t, "../model/testdata/bert-mean-Q8_0.gguf")
	set, err := gguf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	x := &exporter{onnxtest.New(17), t, set}
	x.Output("last_hidden_state", x.bert(), fonnx.Float, "batch", "tokens", x.number("embedding_length"))
	dir = t.TempDir()
	place(t, dir, "onnx/model.onnx", x.Bytes())
	place(t, dir, "config.json", map[string]any{"model_type": "bert", "architectures": []string{"BertModel"}, "vocab_size": 320, "max_position_embeddings": 512, "pad_token_id": 0})
	words := make(map[string]int)
	for i, w := range set.Meta.Strings("tokenizer.ggml.tokens") {
		// GGUF marks the pieces that begin a word, BERT those that do not.
		switch rest, first := strings.CutPrefix(w, "▁"); {
		case first || i <= 4:
			words[rest] = i
		default:
			words["##"+w] = i
		}
	}
	wordTokenizer(t, dir, words)
	return dir, file
}

// texts are inputs of different lengths, as tokens.
func tokenTexts(n, vocab int) (list []engine.EmbedInput) {
	for i := range n {
		ids := []token.ID{2}
		for k := range 1 + i*i%41 {
			ids = append(ids, token.ID(4+(i*31+k*17)%(vocab-4)))
		}
		list = append(list, engine.EmbedInput{Tokens: append(ids, 3)})
	}
	return list
}

// TestONNXEmbeddings holds vectors of an ONNX graph against those of quern's own
// BERT with the same weights: two implementations that share nothing but the
// products.
func TestONNXEmbeddings(t *testing.T) {
	dir, file := bertFolder(t)
	e := open(t, engine.Options{Models: []engine.ModelOptions{{Name: "graph", Path: dir, Batch: 64}, {Name: "recorded", Path: file}}})
	inputs := append(tokenTexts(20, 320), engine.EmbedInput{Text: "Hello, big World!"}, engine.EmbedInput{Text: "the quick brown fox; the other one"}, engine.EmbedInput{Text: "x"})
	var got, want engine.EmbedResult
	for _, x := range []struct {
		name string
		to   *engine.EmbedResult
	}{{"graph", &got}, {"recorded", &want}} {
		var err error
		if *x.to, err = e.Embed(t.Context(), x.name, engine.EmbedRequest{Inputs: inputs}); err != nil {
			t.Fatal(err)
		}
	}
	if got.PromptTokens != want.PromptTokens {
		t.Errorf("%d tokens, want %d", got.PromptTokens, want.PromptTokens)
	}
	worst := 0.0
	for i := range want.Vectors {
		for k, w := range want.Vectors[i] {
			worst = max(worst, math.Abs(float64(got.Vectors[i][k]-w)))
		}
	}
	t.Logf("vectors of length 1 differ by %.2g at most", worst)
	if worst > 1e-5 {
		t.Errorf("vectors differ by %g, want 1e-5 at most", worst)
	}
	info, err := e.described("graph", engine.KindEmbedding)
	if err != nil || info.Format != "onnx" || info.Quantization != "F32" || info.Architecture != "bert" || info.ContextLength != 512 || info.SizeBytes == 0 {
		t.Errorf("the model is %+v, %v", info, err)
	}
}

// rowsModel writes a folder whose graph gives rows that a test can compute: of
// token id the values id·(k+1) + type, k < 3, and 1000 where padding shows.
func rowsModel(t *testing.T, config map[string]any, files map[string]any, more func(x *onnxtest.Builder, rows string)) string {
	t.Helper()
	b := onnxtest.New(17)
	ids := b.Input("input_ids", fonnx.Int64, "batch", "tokens")
	mask := b.Input("attention_mask", fonnx.Int64, "batch", "tokens")
	float := func(v string) string {
		return b.Node("Unsqueeze", []string{b.Node("Cast", []string{v}, onnxtest.Int("to", int64(fonnx.Float))), b.List(2)})
	}
	rows := b.Node("Mul", []string{float(ids), b.Floats([]int{3}, 1, 2, 3)})
	rows = b.Node("Add", []string{rows, b.Node("Mul", []string{b.Node("Sub", []string{b.Floats(nil, 1), float(mask)}), b.Floats(nil, 1000)})})
	if more != nil {
		more(b, rows)
	} else {
		b.Output("last_hidden_state", rows, fonnx.Float, "batch", "tokens", 3)
	}
	dir := t.TempDir()
	place(t, dir, "model.onnx", b.Bytes())
	if config == nil {
		config = map[string]any{"model_type": "bert", "vocab_size": 64, "max_position_embeddings": 16}
	}
	place(t, dir, "config.json", config)
	wordTokenizer(t, dir, numbered(64))
	for name, v := range files {
		place(t, dir, name, v)
	}
	return dir
}

func TestONNXPooling(t *testing.T) {
	texts := []engine.EmbedInput{{Text: "w9"}, {Text: "w8 w4 w20"}} // with [CLS] 2 before and [SEP] 3 after
	for _, tt := range []struct {
		mode string
		want [2]float32 // the first value; the others are two and three times that
	}{
		{"", [2]float32{14. / 3, 37. / 5}},
		{"mean_tokens", [2]float32{14. / 3, 37. / 5}},
		{"cls_token", [2]float32{2, 2}},
		{"lasttoken", [2]float32{3, 3}},
		{"max_tokens", [2]float32{9, 20}},
		{"mean_sqrt_len_tokens", [2]float32{14 / math.Sqrt2 / 1.2247449, 37 / 2.2360680}},
		{"weightedmean_tokens", [2]float32{(2 + 18 + 9) / 6., (2 + 16 + 12 + 80 + 15) / 15.}},
	} {
		t.Run(tt.mode, func(t *testing.T) {
			files := map[string]any{"modules.json": []any{map[string]any{"type": "sentence_transformers.models.Transformer"}, map[string]any{"type": "sentence_transformers.models.Pooling"}}}
			if tt.mode != "" {
				files["1_Pooling/config.json"] = map[string]any{"word_embedding_dimension": 3, "pooling_mode_" + tt.mode: true, "pooling_mode_other": false, "include_prompt": true}
			}
			e := open(t, engine.Options{Models: []engine.ModelOptions{{Name: "m", Path: rowsModel(t, nil, files, nil)}}})
			res, err := e.Embed(t.Context(), "m", engine.EmbedRequest{Inputs: texts, Raw: true})
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range res.Vectors {
				for k := range v {
					if want := tt.want[i] * float32(k+1); math.Abs(float64(v[k]-want)) > 1e-4 {
						t.Errorf("vector %d is %v, want %g, %g, %g", i, v, tt.want[i], 2*tt.want[i], 3*tt.want[i])
						break
					}
				}
			}
		})
	}
}

// TestONNXPooled reads a vector the graph pools itself, and cuts it.
func TestONNXPooled(t *testing.T) {
	dir := rowsModel(t, nil, map[string]any{
		"1_Pooling/config.json":             map[string]any{"pooling_mode_mean_tokens": true},
		"config_sentence_transformers.json": map[string]any{"prompts": map[string]any{"query": "w5 w5 ", "document": ""}},
	}, func(b *onnxtest.Builder, rows string) {
		b.Output("token_embeddings", rows, fonnx.Float, "batch", "tokens", 3)
		first := b.Node("Gather", []string{rows, b.Ints(nil, 1)}, onnxtest.Int("axis", 1))
		b.Output("sentence_embedding", b.Node("Neg", []string{first}), fonnx.Float, "batch", 3)
	})
	e := open(t, engine.Options{Models: []engine.ModelOptions{{Name: "m", Path: dir, Matryoshka: new(true)}}})
	for _, tt := range []struct {
		name string
		r    engine.EmbedRequest
		want []float32
	}{
		{"whole", engine.EmbedRequest{Raw: true}, []float32{-9, -18, -27}},
		{"cut", engine.EmbedRequest{Raw: true, Dimensions: 2}, []float32{-9, -18}},
		{"length 1", engine.EmbedRequest{}, []float32{-0.26726124, -0.5345225, -0.80178374}},
		{"query", engine.EmbedRequest{Raw: true, InputType: "query"}, []float32{-5, -10, -15}},
		{"document", engine.EmbedRequest{Raw: true, InputType: "document"}, []float32{-9, -18, -27}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.r.Inputs = []engine.EmbedInput{{Text: "w9"}}
			res, err := e.Embed(t.Context(), "m", tt.r)
			if err != nil {
				t.Fatal(err)
			}
			got := res.Vectors[0]
			if len(got) != len(tt.want) {
				t.Fatalf("got %v, want %v", got, tt.want)
			}
			for i := range got {
				if math.Abs(float64(got[i]-tt.want[i])) > 1e-6 {
					t.Fatalf("got %v, want %v", got, tt.want)
				}
			}
		})
	}
}

func TestONNXLimits(t *testing.T) {
	e := open(t, engine.Options{Models: []engine.ModelOptions{{Name: "m", Path: rowsModel(t, nil, nil, nil)}}})
	long := engine.EmbedInput{Text: strings.Repeat("w7 ", 40)}
	_, err := e.Embed(t.Context(), "m", engine.EmbedRequest{Inputs: []engine.EmbedInput{long}})
	wantCode(t, err, engine.CodeContextLength)
	res, err := e.Embed(t.Context(), "m", engine.EmbedRequest{Inputs: []engine.EmbedInput{long}, Truncate: true, Raw: true})
	if err != nil || res.PromptTokens != 16 {
		t.Errorf("%d tokens, %v, want 16", res.PromptTokens, err)
	}
	_, err = e.Embed(t.Context(), "m", engine.EmbedRequest{Inputs: []engine.EmbedInput{{Text: "w7"}}, Dimensions: 2})
	wantCode(t, err, engine.CodeInvalidValue)
	_, err = e.Embed(t.Context(), "m", engine.EmbedRequest{Inputs: []engine.EmbedInput{{Tokens: []token.ID{64}}}})
	wantCode(t, err, engine.CodeInvalidValue)
	_, err = gather(t.Context(), e, "m", engine.GenerateRequest{Prompt: engine.Prompt{Text: "w7"}})
	wantCode(t, err, engine.CodeModelNotSupported)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = e.Embed(ctx, "m", engine.EmbedRequest{Inputs: []engine.EmbedInput{{Text: "w7"}}}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

func wantCode(t *testing.T, err error, code engine.Code) {
	t.Helper()
	var e *engine.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("error %v, want %s", err, code)
	}
}

// TestONNXRerank scores by a graph whose logit is known: it is the sum
// of the document's ids minus that of the query's, over 10.
func TestONNXRerank(t *testing.T) {
	config := map[string]any{"model_type": "bert", "architectures": []string{"BertForSequenceClassification"}, "id2label": map[string]any{"0": "LABEL_0"},
		"vocab_size": 64, "max_position_embeddings": 16}
	b := onnxtest.New(17)
	var floats []string
	for _, name := range []string{"input_ids", "attention_mask", "token_type_ids"} {
		b.Input(name, fonnx.Int64, "batch", "tokens")
		floats = append(floats, b.Node("Cast", []string{name}, onnxtest.Int("to", int64(fonnx.Float))))
	}
	sign := b.Node("Sub", []string{b.Node("Mul", []string{floats[2], b.Floats(nil, 2)}), b.Floats(nil, 1)})
	sum := b.Node("MatMul", []string{b.Node("Mul", []string{b.Node("Mul", []string{floats[0], floats[1]}), sign}), b.Node("Expand", []string{
		b.Floats([]int{1, 1}, 0.1), b.Node("Concat", []string{b.Node("Slice", []string{b.Node("Shape", []string{"input_ids"}), b.List(1), b.List(2)}), b.List(1)}, onnxtest.Int("axis", 0))})})
	b.Output("logits", sum, fonnx.Float, "batch", 1)
	dir := t.TempDir()
	place(t, dir, "model.onnx", b.Bytes())
	place(t, dir, "config.json", config)
	wordTokenizer(t, dir, numbered(64))

	e := open(t, engine.Options{Models: []engine.ModelOptions{{Name: "r", Path: dir, Batch: 24}, {Name: "e", Path: rowsModel(t, nil, nil, nil)}, {Name: "text", Path: small}}})
	docs := []string{"w20", "", "w9 w9 w9", "w30 w31"}
	res, err := e.Rerank(t.Context(), "r", engine.RerankRequest{Query: "w10 w12", Documents: docs})
	if err != nil {
		t.Fatal(err)
	}
	// [CLS] and the first [SEP] are the query's, the second the document's.
	for i, sum := range []float64{20, 0, 27, 61} {
		want := 1 / (1 + math.Exp(-(sum+3-22-5)/10))
		if math.Abs(float64(res.Scores[i])-want) > 1e-6 {
			t.Errorf("document %d scores %g, want %g", i, res.Scores[i], want)
		}
	}
	if want := 4*5 + 1 + 0 + 3 + 2; res.PromptTokens != want {
		t.Errorf("%d tokens, want %d", res.PromptTokens, want)
	}
	info, err := e.described("", engine.KindRerank)
	if err != nil || info.ID != "r" || len(info.Capabilities) != 1 {
		t.Errorf("the reranker is %+v, %v", info, err)
	}

	long := strings.Repeat("w5 ", 30)
	_, err = e.Rerank(t.Context(), "r", engine.RerankRequest{Query: "w10", Documents: []string{"w4", long}})
	wantCode(t, err, engine.CodeContextLength)
	res, err = e.Rerank(t.Context(), "r", engine.RerankRequest{Query: "w10", Documents: []string{"w4", long}, Truncate: true})
	if err != nil || res.PromptTokens != 5+16 {
		t.Errorf("%d tokens, %v, want 21", res.PromptTokens, err)
	}

	// Vectors of an embedding model do too.
	res, err = e.Rerank(t.Context(), "e", engine.RerankRequest{Query: "w10 w12", Documents: []string{"w20", "w9"}})
	if err != nil || len(res.Scores) != 2 || math.Abs(float64(res.Scores[0])-1) > 1e-6 {
		t.Errorf("cosines %v, %v, want 1 and 1", res.Scores, err)
	}
	// Of a document no more is read than asked for, by either kind of model.
	for _, model := range []string{"r", "e"} {
		whole, err := e.Rerank(t.Context(), model, engine.RerankRequest{Query: "w10 w12", Documents: []string{"w20 w9", "w20"}})
		if err != nil {
			t.Fatal(err)
		}
		cut, err := e.Rerank(t.Context(), model, engine.RerankRequest{Query: "w10 w12", Documents: []string{"w20 w9", "w20"}, DocumentTokens: 1})
		if err != nil || cut.Scores[0] != cut.Scores[1] || cut.Scores[0] != whole.Scores[1] || whole.Scores[0] == whole.Scores[1] {
			t.Errorf("%s: whole %v, cut %v (%v)", model, whole.Scores, cut.Scores, err)
		}
	}
	_, err = e.Rerank(t.Context(), "text", engine.RerankRequest{Query: "a", Documents: []string{"b"}})
	wantCode(t, err, engine.CodeModelNotSupported)
}

// decoderFolder writes the small model of the fixtures as an ONNX folder.
func decoderFolder(t *testing.T, s style) string {
	t.Helper()
	dir := t.TempDir()
	asHuggingFace(t, dir)
	without(t, dir, ".safetensors")
	set, err := gguf.Open(small)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	name := "model.onnx"
	switch {
	case s.branch:
		name = "onnx/decoder_model_merged.onnx"
	case s.alone: // without a past only config.json says what it is
		var config map[string]any
		data, err := os.ReadFile(filepath.Join(dir, "config.json"))
		if err == nil {
			err = json.Unmarshal(data, &config)
		}
		if err != nil {
			t.Fatal(err)
		}
		config["architectures"] = []string{"LlamaForCausalLM"}
		place(t, dir, "config.json", config)
	case !s.past: // two graphs
		x := &exporter{onnxtest.New(17), t, set}
		x.llama(style{past: true})
		place(t, dir, "onnx/decoder_with_past_model.onnx", x.Bytes())
		name = "onnx/decoder_model.onnx"
	}
	x := &exporter{onnxtest.New(17), t, set}
	x.llama(s)
	place(t, dir, name, x.Bytes())
	return dir
}

// TestONNXDecoder holds greedy replies of ONNX graphs, as exporters make them,
// against those of quern's own llama with the same weights.
func TestONNXDecoder(t *testing.T) {
	styles := []style{{name: "one graph", past: true}, {name: "merged", past: true, branch: true}, {name: "two graphs"}, {name: "few logits", past: true, keep: true}, {name: "no past", alone: true}}
	models := []engine.ModelOptions{{Name: "recorded", Path: small, CacheType: quant.F32}}
	for _, s := range styles {
		// A small batch cuts prompts into several steps.
		models = append(models, engine.ModelOptions{Name: s.name, Path: decoderFolder(t, s), Batch: 24})
	}
	e := open(t, engine.Options{Models: models})
	prompts := []string{"hello", "once upon a time there was a longer text that takes several steps", "x"}
	ask := func(model, prompt string) result {
		t.Helper()
		r := engine.GenerateRequest{Prompt: engine.Prompt{Text: prompt}, MaxTokens: 24, IgnoreEOS: true, Sample: sample.Params{Logprobs: true, Top: 2}, PromptLogprobs: prompt == "x"}
		res, err := gather(t.Context(), e, model, r)
		if err != nil {
			t.Fatalf("%s: %v", model, err)
		}
		return res
	}
	logprobs := func(r result) (list []engine.Logprob) {
		for _, ev := range r.events {
			list = append(append(list, ev.Prompt...), ev.Logprobs...)
		}
		return list
	}
	worst := 0.0
	for _, p := range prompts {
		want := ask("recorded", p)
		for _, s := range styles {
			for again := range 2 { // the second time from the prefix cache
				got := ask(s.name, p)
				if got.text[0] != want.text[0] || got.done.OutputTokens != want.done.OutputTokens {
					t.Errorf("%s says %q after %q, want %q", s.name, got.text[0], p, want.text[0])
				}
				if again == 1 && len(p) > 60 && got.done.CachedTokens == 0 {
					t.Errorf("%s: nothing of %q came from the cache", s.name, p)
				}
				a, b := logprobs(got), logprobs(want)
				if len(a) != len(b) {
					t.Fatalf("%s: %d log-probabilities, want %d", s.name, len(a), len(b))
				}
				for i := range a {
					worst = max(worst, math.Abs(float64(a[i].Logprob-b[i].Logprob)))
				}
			}
		}
	}
	t.Logf("log-probabilities differ by %.2g at most", worst)
	if worst > 1e-4 {
		t.Errorf("log-probabilities differ by %g, want 1e-4 at most", worst)
	}

	// Chat, stops, several replies, and what such models cannot do.
	res, err := gather(t.Context(), e, "one graph", engine.GenerateRequest{Prompt: user("hello"), N: 3, MaxTokens: 12, IgnoreEOS: true, Sample: sample.Params{Temperature: 1, Seed: 3}})
	if err != nil || res.done.OutputTokens != 36 {
		t.Errorf("%d tokens, %v, want 36", res.done.OutputTokens, err)
	}
	want := ask("one graph", "hello").text[0]
	stop := want[len(want)/2:][:3]
	res, err = gather(t.Context(), e, "one graph", engine.GenerateRequest{Prompt: engine.Prompt{Text: "hello"}, MaxTokens: 24, IgnoreEOS: true, Stop: []string{stop}})
	if before, _, _ := strings.Cut(want, stop); err != nil || res.text[0] != before || res.reason[0] != engine.ReasonStop {
		t.Errorf("with the stop %q: %q, %s, %v; want %q", stop, res.text[0], res.reason[0], err, before)
	}
	_, err = e.Embed(t.Context(), "one graph", engine.EmbedRequest{Inputs: []engine.EmbedInput{{Text: "a"}}})
	wantCode(t, err, engine.CodeModelNotSupported)
	info, err := e.described("merged", engine.KindChat)
	if err != nil || fmt.Sprint(info.Capabilities) != "[chat completion]" {
		t.Errorf("the model is %+v, %v", info, err)
	}
}

// TestONNXShared: replies do not depend on other requests of the scheduler.
func TestONNXShared(t *testing.T) {
	e := open(t, engine.Options{Models: []engine.ModelOptions{{Name: "m", Path: decoderFolder(t, style{past: true}), Slots: 3}}})
	ask := func(i int) (string, error) {
		res, err := gather(t.Context(), e, "m", engine.GenerateRequest{Prompt: engine.Prompt{Text: strings.Repeat("word ", 1+i)}, MaxTokens: 12, IgnoreEOS: true,
			Sample: sample.Params{Temperature: 0.9, Seed: uint64(i)}})
		return res.text[0], err
	}
	type reply struct {
		i    int
		text string
		err  error
	}
	all := make(chan reply)
	for i := range 6 {
		go func() {
			text, err := ask(i)
			all <- reply{i, text, err}
		}()
	}
	got := make([]string, 6)
	for range got {
		r := <-all
		if r.err != nil {
			t.Fatal(r.err)
		}
		got[r.i] = r.text
	}
	for i := range got {
		if want, err := ask(i); err != nil || got[i] != want {
			t.Errorf("request %d said %q among others, alone %q, %v", i, got[i], want, err)
		}
	}
}
