package local

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	fonnx "quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
	"quern/formats/weights"
)

// An exporter records models of the fixtures as ONNX graphs, in the way of
// PyTorch's exporter, out of small operators.
type exporter struct {
	*onnxtest.Builder
	t   *testing.T
	set *weights.Set
}

// weight is a tensor of the file as float32; a matrix is turned, since MatMul
// has the inputs in its rows.
func (x *exporter) weight(name string, turned bool) string {
	x.t.Helper()
	w, ok := x.set.Tensor(name)
	if !ok {
		x.t.Fatalf("no tensor %s", name)
	}
	v := make([]float32, w.Elems())
	w.Type.Layout().Decode(v, w.Data)
	shape := w.Shape
	if turned {
		rows, cols := shape[0], shape[1]
		turn := make([]float32, len(v))
		for r := range rows {
			for c := range cols {
				turn[c*rows+r] = v[r*cols+c]
			}
		}
		v, shape = turn, []int{cols, rows}
	}
	return x.Floats(shape, v...)
}

func (x *exporter) op(name string, in ...string) string { return x.Node(name, in) }

func (x *exporter) scalar(v float64) string { return x.Floats(nil, float32(v)) }

// linear is x·Wᵀ, with a bias where the file has one.
func (x *exporter) linear(v, name string) string {
	y := x.op("MatMul", v, x.weight(name+".weight", true))
	if _, ok := x.set.Tensor(name + ".bias"); ok {
		y = x.op("Add", y, x.weight(name+".bias", false))
	}
	return y
}

// heads turns (texts, tokens, heads·dim) into (texts, heads, tokens, dim).
func (x *exporter) heads(v string, heads, dim int) string {
	v = x.op("Reshape", v, x.List(0, 0, int64(heads), int64(dim)))
	return x.Node("Transpose", []string{v}, onnxtest.IntList("perm", 0, 2, 1, 3))
}

// attend is softmax(q·kᵀ·scale + mask)·v as (texts, tokens, heads·dim).
func (x *exporter) attend(q, k, v, mask string, heads, dim int) string {
	k = x.Node("Transpose", []string{k}, onnxtest.IntList("perm", 0, 1, 3, 2))
	s := x.op("Add", x.op("Mul", x.op("MatMul", q, k), x.scalar(1/math.Sqrt(float64(dim)))), mask)
	s = x.Node("Softmax", []string{s}, onnxtest.Int("axis", -1))
	o := x.Node("Transpose", []string{x.op("MatMul", s, v)}, onnxtest.IntList("perm", 0, 2, 1, 3))
	return x.op("Reshape", o, x.List(0, 0, int64(heads*dim)))
}

func (x *exporter) number(key string) int {
	n, ok := x.set.Meta.Int(x.set.Meta.String("general.architecture") + "." + key)
	if !ok {
		x.t.Fatalf("no %s", key)
	}
	return int(n)
}

// bert records BERT up to its last norm.
func (x *exporter) bert() string {
	heads, hidden := x.number("attention.head_count"), x.number("embedding_length")
	ids := x.Input("input_ids", fonnx.Int64, "batch", "tokens")
	mask := x.Input("attention_mask", fonnx.Int64, "batch", "tokens")
	types := x.Input("token_type_ids", fonnx.Int64, "batch", "tokens")
	positions := x.Input("position_ids", fonnx.Int64, "batch", "tokens")
	eps, _ := x.set.Meta.Lookup("bert.attention.layer_norm_epsilon")
	norm := func(v, name string) string {
		return x.Node("LayerNormalization", []string{v, x.weight(name+".weight", false), x.weight(name+".bias", false)},
			onnxtest.Int("axis", -1), onnxtest.Float("epsilon", float32(eps.(float64))))
	}
	h := x.op("Gather", x.weight("token_embd.weight", false), ids)
	h = x.op("Add", h, x.op("Gather", x.weight("token_types.weight", false), types))
	h = x.op("Add", h, x.op("Gather", x.weight("position_embd.weight", false), positions))
	h = norm(h, "token_embd_norm")
	// 0 where a token is, −10⁹ where padding is.
	m := x.op("Cast", x.op("Unsqueeze", mask, x.List(1, 2)))
	x.cast(m, fonnx.Float)
	m = x.op("Mul", x.op("Sub", m, x.scalar(1)), x.scalar(1e9))
	for i := range x.number("block_count") {
		blk := "blk." + string(rune('0'+i)) + "."
		q, k, v := x.linear(h, blk+"attn_q"), x.linear(h, blk+"attn_k"), x.linear(h, blk+"attn_v")
		dim := hidden / heads
		a := x.attend(x.heads(q, heads, dim), x.heads(k, heads, dim), x.heads(v, heads, dim), m, heads, dim)
		h = norm(x.op("Add", h, x.linear(a, blk+"attn_output")), blk+"attn_output_norm")
		f := x.linear(h, blk+"ffn_up")
		// GELU by the error function.
		e := x.op("Add", x.op("Erf", x.op("Div", f, x.scalar(math.Sqrt2))), x.scalar(1))
		f = x.op("Mul", x.op("Mul", f, e), x.scalar(0.5))
		h = norm(x.op("Add", h, x.linear(f, blk+"ffn_down")), blk+"layer_output_norm")
	}
	return h
}

// cast sets the type of the Cast that made v.
func (x *exporter) cast(v string, to fonnx.DType) {
	for _, n := range x.Model.Graph.Nodes {
		if n.Outputs[0] == v {
			n.Attrs = map[string]*fonnx.Attr{"to": onnxtest.Int("to", int64(to))}
		}
	}
}

// A style is one of the ways decoders are exported.
type style struct {
	name   string
	past   bool // takes keys and values
	branch bool // has an input that reports whether it is to look at them
	keep   bool // has an input that says how many logits are wanted
	alone  bool // there is no other graph
}

// llama records a decoder of llama's architecture.
func (x *exporter) llama(s style) {
	heads, kv, hidden := x.number("attention.head_count"), x.number("attention.head_count_kv"), x.number("embedding_length")
	dim := hidden / heads
	ids := x.Input("input_ids", fonnx.Int64, "batch", "tokens")
	mask := x.Input("attention_mask", fonnx.Int64, "batch", "total")
	positions := x.Input("position_ids", fonnx.Int64, "batch", "tokens")
	if s.branch {
		x.Input("use_cache_branch", fonnx.Bool, 1)
	}
	if s.keep {
		x.Input("num_logits_to_keep", fonnx.Int64)
	}
	norm := func(v, name string) string {
		r := x.Node("ReduceMean", []string{x.op("Pow", v, x.scalar(2))}, onnxtest.IntList("axes", -1), onnxtest.Int("keepdims", 1))
		r = x.op("Sqrt", x.op("Add", r, x.scalar(1e-5)))
		return x.op("Mul", x.op("Div", v, r), x.weight(name+".weight", false))
	}
	// Rotations by position, of neighbouring pairs as GGUF has them.
	context := x.number("context_length")
	base, _ := x.set.Meta.Lookup("llama.rope.freq_base")
	var cos, sin []float32
	for p := range context {
		for i := range dim / 2 {
			a := float64(p) * math.Pow(base.(float64), -2*float64(i)/float64(dim))
			cos, sin = append(cos, float32(math.Cos(a))), append(sin, float32(math.Sin(a)))
		}
	}
	table := func(v []float32) string {
		return x.op("Unsqueeze", x.op("Gather", x.Floats([]int{context, dim / 2}, v...), positions), x.List(1))
	}
	c, sn := table(cos), table(sin)
	rotate := func(v string) string {
		pairs := x.op("Reshape", v, x.List(0, 0, 0, int64(dim/2), 2))
		a := x.Node("Gather", []string{pairs, x.Ints(nil, 0)}, onnxtest.Int("axis", -1))
		b := x.Node("Gather", []string{pairs, x.Ints(nil, 1)}, onnxtest.Int("axis", -1))
		first := x.op("Sub", x.op("Mul", a, c), x.op("Mul", b, sn))
		second := x.op("Add", x.op("Mul", a, sn), x.op("Mul", b, c))
		both := x.Node("Concat", []string{x.op("Unsqueeze", first, x.List(-1)), x.op("Unsqueeze", second, x.List(-1))}, onnxtest.Int("axis", -1))
		return x.op("Reshape", both, x.List(0, 0, 0, int64(dim)))
	}
	// Tokens see those at their position and before, where mask has a 1.
	total := x.op("Gather", x.op("Shape", mask), x.Ints(nil, 1))
	at := x.op("Range", x.Ints(nil, 0), total, x.Ints(nil, 1))
	later := x.op("Greater", at, x.op("Unsqueeze", x.op("Unsqueeze", positions, x.List(1)), x.List(3)))
	hidden1 := x.op("Equal", x.op("Unsqueeze", mask, x.List(1, 2)), x.Ints(nil, 0))
	bias := x.op("Where", x.op("Or", later, hidden1), x.scalar(-1e9), x.scalar(0))

	h := x.op("Gather", x.weight("token_embd.weight", false), ids)
	for i := range x.number("block_count") {
		n := string(rune('0' + i))
		blk := "blk." + n + "."
		y := norm(h, blk+"attn_norm")
		q := rotate(x.heads(x.linear(y, blk+"attn_q"), heads, dim))
		k := rotate(x.heads(x.linear(y, blk+"attn_k"), kv, dim))
		v := x.heads(x.linear(y, blk+"attn_v"), kv, dim)
		for _, p := range []struct {
			what string
			now  *string
		}{{"key", &k}, {"value", &v}} {
			if s.past {
				before := x.Input("past_key_values."+n+"."+p.what, fonnx.Float, "batch", kv, "past", dim)
				*p.now = x.withPast(before, *p.now, s.branch)
			}
			x.Output("present."+n+"."+p.what, *p.now, fonnx.Float, "batch", kv, "now", dim)
			*p.now = x.repeated(*p.now, heads/kv, kv)
		}
		h = x.op("Add", h, x.linear(x.attend(q, k, v, bias, heads, dim), blk+"attn_output"))
		y = norm(h, blk+"ffn_norm")
		gate := x.linear(y, blk+"ffn_gate")
		gate = x.op("Mul", gate, x.op("Sigmoid", gate))
		h = x.op("Add", h, x.linear(x.op("Mul", gate, x.linear(y, blk+"ffn_up")), blk+"ffn_down"))
	}
	if s.keep {
		h = x.op("Slice", h, x.op("Unsqueeze", x.op("Neg", "num_logits_to_keep"), x.List(0)), x.List(math.MaxInt64), x.List(1))
	}
	h = norm(h, "output_norm")
	x.Output("logits", x.op("MatMul", h, x.weight("token_embd.weight", true)), fonnx.Float, "batch", "wanted", "vocab")
}

// withPast puts the past before now, in a branched graph only where that is
// asked for.
func (x *exporter) withPast(past, now string, branch bool) string {
	if !branch {
		return x.Node("Concat", []string{past, now}, onnxtest.Int("axis", 2))
	}
	body := func(name, op string, in ...string) *fonnx.Graph {
		n := onnxtest.NewNode([]string{name}, op, in)
		if op == "Concat" {
			n.Attrs = map[string]*fonnx.Attr{"axis": onnxtest.Int("axis", 2)}
		}
		return &fonnx.Graph{Name: name, Nodes: []*fonnx.Node{n}, Outputs: []fonnx.Value{{Name: name, Type: fonnx.Type{Kind: fonnx.KindTensor, Elem: fonnx.Float}}}}
	}
	return x.Node("If", []string{"use_cache_branch"}, onnxtest.Body("then_branch", body(past+"/both", "Concat", past, now)), onnxtest.Body("else_branch", body(past+"/now", "Identity", now)))
}

// repeated gives every key head to several query heads.
func (x *exporter) repeated(v string, times, kv int) string {
	if times == 1 {
		return v
	}
	var of []int64
	for h := range kv {
		for range times {
			of = append(of, int64(h))
		}
	}
	return x.Node("Gather", []string{v, x.List(of...)}, onnxtest.Int("axis", 1))
}

// place writes a file of a model folder; v is bytes or what becomes JSON.
func place(t *testing.T, dir, name string, v any) {
	t.Helper()
	data, ok := v.([]byte)
	if !ok {
		var err error
		if data, err = json.Marshal(v); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// without removes the files of a folder with that ending.
func without(t *testing.T, dir, ending string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.Contains(e.Name(), ending) {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// numbered is a vocabulary of the words w4, w5, … after the special tokens.
func numbered(vocab int) map[string]int {
	words := map[string]int{"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3}
	for i := 4; i < vocab; i++ {
		words[fmt.Sprintf("w%d", i)] = i
	}
	return words
}

// wordTokenizer writes the tokenizer of a BERT whose special tokens are [PAD] 0,
// [UNK] 1, [CLS] 2 and [SEP] 3.
func wordTokenizer(t *testing.T, dir string, words map[string]int) {
	t.Helper()
	special := func(id int, text string) map[string]any {
		return map[string]any{"id": id, "content": text, "special": true}
	}
	piece := func(kind, id string, of int) map[string]any {
		return map[string]any{kind: map[string]any{"id": id, "type_id": of}}
	}
	tokens := map[string]any{}
	for i, name := range []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]"} {
		tokens[name] = map[string]any{"id": name, "ids": []int{i}, "tokens": []string{name}}
	}
	place(t, dir, "tokenizer.json", map[string]any{
		"model":         map[string]any{"type": "WordPiece", "vocab": words, "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100},
		"added_tokens":  []any{special(0, "[PAD]"), special(1, "[UNK]"), special(2, "[CLS]"), special(3, "[SEP]")},
		"normalizer":    map[string]any{"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "lowercase": true},
		"pre_tokenizer": map[string]any{"type": "BertPreTokenizer"},
		"decoder":       map[string]any{"type": "WordPiece", "prefix": "##", "cleanup": true},
		"post_processor": map[string]any{"type": "TemplateProcessing",
			"single":         []any{piece("SpecialToken", "[CLS]", 0), piece("Sequence", "A", 0), piece("SpecialToken", "[SEP]", 0)},
			"pair":           []any{piece("SpecialToken", "[CLS]", 0), piece("Sequence", "A", 0), piece("SpecialToken", "[SEP]", 0), piece("Sequence", "B", 1), piece("SpecialToken", "[SEP]", 1)},
			"special_tokens": tokens},
	})
	place(t, dir, "tokenizer_config.json", map[string]any{"tokenizer_class": "BertTokenizer", "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]"})
}
