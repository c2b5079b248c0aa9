package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"quern/engine"
	"quern/engine/model"
	"quern/engine/onnx"
	"quern/engine/token"
	fonnx "quern/formats/onnx"
)

// An poolingOf turns the rows of a text, (tokens, width), into one vector.
type pooling func(dst, rows []float32)

// poolings are those of sentence-transformers, by its names.
//
// Sentence-Transformers, models/Pooling.py.
var poolings = map[string]pooling{
	"cls_token":   func(dst, rows []float32) { copy(dst, rows) },
	"lasttoken":   func(dst, rows []float32) { copy(dst, rows[len(rows)-len(dst):]) },
	"mean_tokens": func(dst, rows []float32) { weighted(dst, rows, func(int) float64 { return 1 }, 1) },
	"max_tokens":  poolMax,
	"mean_sqrt_len_tokens": func(dst, rows []float32) {
		weighted(dst, rows, func(int) float64 { return 1 }, 0.5)
	},
	// Later tokens have seen more of the text.
	"weightedmean_tokens": func(dst, rows []float32) { weighted(dst, rows, func(i int) float64 { return float64(i + 1) }, 1) },
}

// weighted writes Σ weight·row / (Σ weight)^power.
func weighted(dst, rows []float32, weight func(i int) float64, power float64) {
	sums, total := make([]float64, len(dst)), 0.0
	for i := 0; i*len(dst) < len(rows); i++ {
		w := weight(i)
		total += w
		for k, x := range rows[i*len(dst) : (i+1)*len(dst)] {
			sums[k] += w * float64(x)
		}
	}
	total = math.Pow(total, power)
	for k := range dst {
		dst[k] = float32(sums[k] / total)
	}
}

func poolMax(dst, rows []float32) {
	copy(dst, rows)
	for i := len(dst); i < len(rows); i += len(dst) {
		for k, x := range rows[i : i+len(dst)] {
			dst[k] = max(dst[k], x)
		}
	}
}

// pooling finds out how the rows of a text become its vector. Models that do
// not say take the mean, as do text models. Graphs that pool themselves have one
// row, which any pooling leaves as it is.
func (h *Head) pooling(pooled bool) (pooling, error) {
	if pooled {
		return poolings["cls_token"], nil
	}
	for _, m := range h.parts() {
		switch name := m[strings.LastIndexByte(m, '.')+1:]; name {
		case "Transformer", "Pooling", "Normalize":
		default:
			return nil, fmt.Errorf("%w: modules.json adds %q, which is not in the ONNX graph; export the whole model, so that it gives sentence_embedding", model.ErrUnsupported, name)
		}
	}
	said := h.Meta.String("hf.pooling")
	if said == "" {
		return poolings["mean_tokens"], nil
	}
	var modes map[string]any
	if err := json.Unmarshal([]byte(said), &modes); err != nil {
		return nil, fmt.Errorf("%w: 1_Pooling/config.json: %v", model.ErrFormat, err)
	}
	var found []string
	for key, on := range modes {
		if name, ok := strings.CutPrefix(key, "pooling_mode_"); ok && on == true {
			found = append(found, name)
		}
	}
	if len(found) != 1 || poolings[found[0]] == nil {
		slices.Sort(found)
		return nil, fmt.Errorf("%w: poolings %q, want one known", model.ErrUnsupported, found)
	}
	return poolings[found[0]], nil
}

// parts lists the parts of a model of sentence-transformers by their types.
func (h *Head) parts() (types []string) {
	var list []struct {
		Type string `json:"type"`
	}
	// A list that is not what it should be counts as none.
	_ = json.Unmarshal(h.modules, &list)
	for _, m := range list {
		types = append(types, m.Type)
	}
	return types
}

// A text is a text, or a pair of texts, as a network reads it.
type text struct {
	ids   []token.ID
	types []int64 // which text of a pair a token belongs to; nil: all the first
}

// An Encoder runs graphs that read whole texts. Texts of similar length go
// together, padded to the longest and masked.
type Encoder struct {
	*Graph
	out    string // the output that is read
	pooled bool   // it has one row for a text
	pool   pooling
	pad    token.ID
	budget int // tokens of one run, padding included
}

// encoderInputs say what stands in the inputs of an encoder, by their names:
// for token i of a text.
var encoderInputs = map[string]func(x *Encoder, t *text, i int) int64{
	"input_ids": func(x *Encoder, t *text, i int) int64 {
		if i < len(t.ids) {
			return int64(t.ids[i])
		}
		return int64(x.pad)
	},
	"attention_mask": func(_ *Encoder, t *text, i int) int64 {
		if i < len(t.ids) {
			return 1
		}
		return 0
	},
	"token_type_ids": func(_ *Encoder, t *text, i int) int64 {
		if i < len(t.types) {
			return t.types[i]
		}
		return 0
	},
	"position_ids": func(_ *Encoder, _ *text, i int) int64 { return int64(i) },
}

// elsewhere says of inputs that tell what a graph is, and that quern serves that in another form.
var elsewhere = map[string]string{
	"style": "Kokoro as an ONNX graph is not served; take its weights, .pth or SafeTensors (hexgrad/Kokoro-82M)",
}

// knownInputs refuses a graph that wants what is not known of a text.
func knownInputs(list []fonnx.Value) error {
	for _, in := range list {
		if use := elsewhere[in.Name]; use != "" {
			return fmt.Errorf("%w: %s", model.ErrUnsupported, use)
		}
		if encoderInputs[in.Name] == nil || len(in.Type.Dims) != 2 {
			return fmt.Errorf("%w: the graph wants an input %q %s; quern gives input_ids, attention_mask, token_type_ids and position_ids, each of (texts, tokens)",
				model.ErrUnsupported, in.Name, describeDims(in.Type.Dims))
		}
	}
	return nil
}

// rowOutputs and textOutputs are what exporters call the rows of a text and its
// vector. A vector made by the model's own pooling is preferred to rows, and
// rows to what else has the shape of a vector.
var (
	textOutputs = []string{"sentence_embedding", "text_embeds"}
	rowOutputs  = []string{"last_hidden_state", "token_embeddings"}
)

// Encoder makes what runs the graph of a model that reads whole texts. A run takes about
// budget tokens, padding included.
func (h *Head) Encoder(ctx context.Context, on Host, v *token.Vocab, budget int) (*Encoder, error) {
	g, err := on.Graph(ctx, h.graph)
	if err != nil {
		return nil, err
	}
	x := &Encoder{Graph: g, budget: budget, pad: v.Special(token.PAD)}
	if h.config.Pad != nil {
		x.pad = *h.config.Pad
	}
	if x.pad < 0 { // the mask hides it
		x.pad = 0
	}
	rank := func(out fonnx.Value, n int) bool { return len(out.Type.Dims) == n || out.Type.Dims == nil }
	find := func(n int, names ...string) bool {
		for _, out := range g.outputs {
			if x.out == "" && rank(out, n) && (out.Name == "logits") == h.scores() && (len(names) == 0 || slices.Contains(names, out.Name)) {
				x.out, x.pooled = out.Name, n == 2
			}
		}
		return x.out != ""
	}
	switch {
	case h.scores() && find(2, "logits"):
	case h.Kind == engine.KindEmbedding && (find(2, textOutputs...) || find(3, rowOutputs...) || find(3) || find(2)):
	default:
		return nil, fmt.Errorf("%w: no output of the graph is known: %s", model.ErrUnsupported, describeValues(g.outputs))
	}
	x.pool, err = h.pooling(x.pooled)
	return x, err
}

// each runs texts and calls f with what the output holds for each: its rows
// without padding, (tokens, width), or its vector.
func (x *Encoder) each(ctx context.Context, texts []text, f func(text, width int, rows []float32)) error {
	order := make([]int, len(texts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(texts[b].ids), len(texts[a].ids)) })
	for len(order) > 0 {
		long := len(texts[order[0]].ids)
		n := min(len(order), max(1, x.budget/max(1, long)))
		if err := x.batch(ctx, texts, order[:n], long, f); err != nil {
			return err
		}
		order = order[n:]
	}
	return nil
}

func (x *Encoder) batch(ctx context.Context, texts []text, of []int, long int, f func(text, width int, rows []float32)) error {
	in := make(map[string]*onnx.Tensor)
	for i := range x.inputs {
		v := &x.inputs[i]
		value := encoderInputs[v.Name]
		numbers := make([]int64, 0, len(of)*long)
		for _, t := range of {
			for i := range long {
				numbers = append(numbers, value(x, &texts[t], i))
			}
		}
		in[v.Name] = tensorOf(v, numbers, len(of), long)
	}
	out, err := x.Graph.Run(ctx, in)
	if err != nil {
		return err
	}
	shape := []int{len(of), long, -1}
	if x.pooled {
		shape = []int{len(of), -1}
	}
	t, err := rows(out, x.out, shape...)
	if err != nil {
		return err
	}
	width := t.Shape[len(t.Shape)-1]
	if width == 0 {
		return fmt.Errorf("%w: the graph's output %q is empty", model.ErrFormat, x.out)
	}
	step := len(t.F) / len(of)
	for i, k := range of {
		part := t.F[i*step : (i+1)*step]
		if !x.pooled {
			part = part[:len(texts[k].ids)*width]
		}
		f(k, width, part)
	}
	return nil
}

// Run turns texts into vectors. types, where it is not nil, says which text of a pair
// the tokens belong to.
func (x *Encoder) Run(ctx context.Context, ids [][]token.ID, types [][]int64) ([][]float32, error) {
	texts := make([]text, len(ids))
	for i := range ids {
		texts[i].ids = ids[i]
		if types != nil {
			texts[i].types = types[i]
		}
	}
	out := make([][]float32, len(ids))
	return out, x.each(ctx, texts, func(i, width int, rows []float32) {
		out[i] = make([]float32, width)
		x.pool(out[i], rows)
	})
}

// describeDims writes a declared shape, names for sizes included.
func describeDims(dims []fonnx.Dim) string {
	var s []string
	for _, d := range dims {
		switch {
		case d.Size >= 0:
			s = append(s, fmt.Sprint(d.Size))
		case d.Param != "":
			s = append(s, fmt.Sprintf("%.40s", d.Param))
		default:
			s = append(s, "?")
		}
	}
	return "(" + strings.Join(s, ", ") + ")"
}

// describeValues lists values with their types.
func describeValues(list []fonnx.Value) string {
	var s []string
	for _, v := range list {
		s = append(s, fmt.Sprintf("%.60s %v %s", v.Name, v.Type.Elem, describeDims(v.Type.Dims)))
	}
	return strings.Join(s, ", ")
}
