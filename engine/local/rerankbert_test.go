package local

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"quern/engine"
	"quern/formats/gguf"
	fonnx "quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
	"quern/kernels/quant"
)

// A published tensor is what a SafeTensors file has of one.
type published struct {
	name  string
	shape []int
	x     []float32
}

// safeTensors writes tensors as a SafeTensors file of float32.
func safeTensors(t *testing.T, list []published) []byte {
	t.Helper()
	type entry struct {
		Dtype   string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets [2]int `json:"data_offsets"`
	}
	header, data := make(map[string]entry), []byte(nil)
	for _, p := range list {
		b := make([]byte, 4*len(p.x))
		quant.F32.Layout().Encode(b, p.x)
		header[p.name] = entry{"F32", p.shape, [2]int{len(data), len(data) + len(b)}}
		data = append(data, b...)
	}
	h, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(h))), h, data)
}

// crossEncoder writes a BERT with a head over pairs twice: as Hugging Face
// publishes it and as an ONNX folder.
func crossEncoder(t *testing.T, labels int) (plain, graph string) {
	t.Helper()
	set, err := gguf.Open(asFloats(t, "../model/testdata/bert-mean-Q8_0.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	const hidden = 128
	head := []published{
		{"bert.pooler.dense.weight", []int{hidden, hidden}, nil}, {"bert.pooler.dense.bias", []int{hidden}, nil},
		{"classifier.weight", []int{labels, hidden}, nil}, {"classifier.bias", []int{labels}, nil},
	}
	for i := range head {
		n := 1
		for _, d := range head[i].shape {
			n *= d
		}
		for range n {
			head[i].x = append(head[i].x, float32(rng.NormFloat64()*0.1))
		}
	}
	names := strings.NewReplacer("token_embd_norm", "embeddings.LayerNorm", "token_embd", "embeddings.word_embeddings", "token_types", "embeddings.token_type_embeddings",
		"position_embd", "embeddings.position_embeddings", "blk.", "encoder.layer.", "attn_output_norm", "attention.output.LayerNorm", "attn_output", "attention.output.dense",
		"attn_q", "attention.self.query", "attn_k", "attention.self.key", "attn_v", "attention.self.value", "ffn_up", "intermediate.dense", "ffn_down", "output.dense",
		"layer_output_norm", "output.LayerNorm")
	list := slices.Clone(head)
	for w := range set.All() {
		x := make([]float32, w.Elems())
		w.Type.Layout().Decode(x, w.Data)
		list = append(list, published{"bert." + names.Replace(w.Name), w.Shape, x})
	}
	plain = t.TempDir()
	place(t, plain, "model.safetensors", safeTensors(t, list))

	x := &exporter{onnxtest.New(17), t, set}
	row := x.Node("Gather", []string{x.bert(), x.Ints(nil, 0)}, onnxtest.Int("axis", 1))
	for i := 0; i < len(head); i += 2 {
		w := x.op("Transpose", x.Floats(head[i].shape, head[i].x...))
		row = x.op("Add", x.op("MatMul", row, w), x.Floats(head[i+1].shape, head[i+1].x...))
		if i == 0 {
			row = x.op("Tanh", row)
		}
	}
	x.Output("logits", row, fonnx.Float, "batch", labels)
	graph = t.TempDir()
	place(t, graph, "model.onnx", x.Bytes())

	ids := map[string]string{}
	for i := range labels {
		ids[string(rune('0'+i))] = "label"
	}
	for _, dir := range []string{plain, graph} {
		place(t, dir, "config.json", map[string]any{
			"model_type": "bert", "architectures": []string{"BertForSequenceClassification"}, "id2label": ids, "vocab_size": 320, "max_position_embeddings": 512,
			"hidden_size": hidden, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "layer_norm_eps": 1e-12, "type_vocab_size": 2,
		})
		wordTokenizer(t, dir, numbered(320))
	}
	return plain, graph
}

// TestRerankBert holds the scores of a BERT from SafeTensors against those of an
// ONNX graph of the same weights.
func TestRerankBert(t *testing.T) {
	plain, graph := crossEncoder(t, 1)
	e := open(t, engine.Options{Models: []engine.ModelOptions{{Name: "plain", Path: plain}, {Name: "graph", Path: graph}}})
	r := engine.RerankRequest{Query: "w10 w11 w12", Truncate: true}
	for i := range 12 {
		var words []string
		for k := range 1 + i*i {
			words = append(words, "w"+string(rune('1'+k%9))+string(rune('0'+(i+k*k)%10)))
		}
		r.Documents = append(r.Documents, strings.Join(words, " "))
	}
	r.Documents = append(r.Documents, "", strings.Repeat("w99 ", 600))
	var got [2]engine.RerankResult
	for i, name := range []string{"plain", "graph"} {
		var err error
		if got[i], err = e.Rerank(t.Context(), name, r); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	worst, least, most := 0.0, 1.0, 0.0
	for i, s := range got[0].Scores {
		worst = max(worst, math.Abs(float64(s-got[1].Scores[i])))
		least, most = min(least, float64(s)), max(most, float64(s))
	}
	t.Logf("scores from %.4f to %.4f differ by %.2g at most", least, most, worst)
	if worst > 1e-5 || got[0].PromptTokens != got[1].PromptTokens || most-least < 0.01 {
		t.Errorf("scores from %g to %g differ by %g; %d and %d tokens", least, most, worst, got[0].PromptTokens, got[1].PromptTokens)
	}
	// The two texts are not alike to the model.
	r.Documents = []string{"w20 w21"}
	one, err := e.Rerank(t.Context(), "plain", r)
	if err != nil {
		t.Fatal(err)
	}
	r.Query, r.Documents = "w20 w21", []string{"w10 w11 w12"}
	two, err := e.Rerank(t.Context(), "plain", r)
	if err != nil || one.Scores[0] == two.Scores[0] {
		t.Errorf("either way round the score is %v, %v", one.Scores, err)
	}
	info, err := e.described("plain", engine.KindRerank)
	if err != nil || info.Format != "safetensors" {
		t.Errorf("the model is %+v, %v", info, err)
	}
	// Each document may have a query of its own.
	r = engine.RerankRequest{Queries: []string{"w10 w11 w12", "w20 w21"}, Documents: []string{"w20 w21", "w10 w11 w12"}}
	for _, name := range []string{"plain", "graph"} {
		both, err := e.Rerank(t.Context(), name, r)
		if err != nil || math.Abs(float64(both.Scores[0]-one.Scores[0])) > 1e-5 || math.Abs(float64(both.Scores[1]-two.Scores[0])) > 1e-5 {
			t.Errorf("%s: %v, %v; want %v and %v", name, both.Scores, err, one.Scores, two.Scores)
		}
	}
	_, err = e.Embed(t.Context(), "plain", engine.EmbedRequest{Inputs: []engine.EmbedInput{{Text: "w5"}}})
	wantCode(t, err, engine.CodeModelNotSupported)
}

func TestRerankBertRefused(t *testing.T) {
	plain, _ := crossEncoder(t, 1)
	place(t, plain, "config.json", map[string]any{"model_type": "distilbert", "architectures": []string{"DistilBertForSequenceClassification"}})
	_, err := New(engine.Options{Models: []engine.ModelOptions{{Name: "m", Path: plain}}})
	if err == nil || !strings.Contains(err.Error(), "distilbert") {
		t.Errorf("error %v, want one about distilbert", err)
	}
}
