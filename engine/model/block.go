package model

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"quern/engine/graph"
	"quern/formats/weights"
)

// Parts that three or more architectures share.

// A base is what every model has around its layers.
type base struct {
	c       Config
	set     *file
	embed   *weights.Tensor // (vocab, hidden)
	norm    norm            // after the last layer, or of the embedding: normsEmbedding
	output  linear          // to the vocabulary; embed when tied
	logCap  float32         // of logits; 0 for none
	rope    graph.Rope
	turns   bool   // query and key rows of GGUF files are permuted, see interleave
	slides  []bool // layers with a sliding window; nil for none
	reader  reader // of the architecture's other keys
	tensors tensors
	spares  map[string]bool // matrices of the file that nothing is multiplied with
}

// newBase reads the configuration and the weights outside the layers.
func newBase(set *file, encoder bool) (*base, error) {
	c, err := ggufConfig(set)
	if err != nil {
		return nil, err
	}
	c.Encoder = encoder
	m := &base{c: c, set: set, tensors: tensors{set: set}, reader: reader{file: set}}
	if causal := m.reader.flag("attention.causal", !encoder); causal == encoder {
		m.reader.refuse("attention.causal", "is %v", causal)
	}
	t := &m.tensors
	m.embed = t.need("token_embd.weight", c.Vocab, c.Hidden)
	name := "output_norm"
	if normsEmbedding[c.Arch] || strings.HasPrefix(c.Arch, "lfm2") { // whose converters call the last norm so
		name = "token_embd_norm"
	}
	if decoders[c.Arch].bare {
		m.norm.w = ones(c.Hidden)
	} else {
		m.norm = t.norm(name, c.Hidden)
	}
	if !encoder {
		m.output = linear{t.maybe("output.weight", c.Vocab, c.Hidden), t.maybe("output.bias", c.Vocab)}
		if m.output.w == nil {
			m.output.w = m.embed
		}
	}
	m.rope = graph.Rope{HeadDim: c.HeadDim}
	divide, _ := set.Tensor("rope_freqs.weight")
	m.rope.Freqs, m.rope.Magnitude, err = c.Rope.frequencies(divide)
	return m, err
}

// spare notes a tensor that files have and the pass does not read.
func (m *base) spare(name string) {
	if m.spares == nil {
		m.spares = make(map[string]bool)
	}
	m.spares[name] = true
	m.set.Tensor(name)
}

func (m *base) Config() *Config { return &m.c }

func (m *base) own() *base { return m }

func (m *base) Logits(b *graph.Builder, hidden graph.Value) graph.Value {
	if m.c.Encoder {
		b.Fail(fmt.Errorf("%w: a %s model makes embeddings, no text", ErrUnsupported, m.c.Arch))
		return graph.Value{}
	}
	x := b.Linear(hidden, m.output.w, m.output.b)
	if m.logCap > 0 {
		x = b.SoftCap(x, m.logCap)
	}
	return x
}

// interleave sets how pairs of a head are rotated: GGUF files of some
// architectures hold query and key rows permuted for neighbours, Hugging Face
// files do not.
func (m *base) interleave() {
	m.turns, m.rope.Interleaved = true, m.set.Source == weights.GGUF
}

// unscaled is the rotation without the scaling of positions, by another base where the
// file has one for layers with a window.
func (m *base) unscaled(base float64) (graph.Rope, error) {
	local := RopeConfig{Dim: m.c.Rope.Dim, Base: m.reader.positive("rope.freq_base_swa", base), Factor: 1, AttnFactor: 1}
	r := graph.Rope{HeadDim: m.rope.HeadDim, Interleaved: m.rope.Interleaved}
	var err error
	r.Freqs, r.Magnitude, err = local.frequencies(nil)
	return r, err
}

// err is the first error of reading keys and finding weights.
func (m *base) err() error {
	if m.reader.err != nil {
		return m.reader.err
	}
	return m.tensors.err
}

// window is the sliding window of layer i, 0 for none.
func (m *base) window(i int) int {
	if m.slides == nil || !m.slides[i] {
		return 0
	}
	return m.c.Window
}

// attn describes the attention of layer i.
func (m *base) attn(i, window int) graph.Attention {
	c := &m.c
	return graph.Attention{
		Layer: i, Heads: c.Heads, KVHeads: c.KVHeads, HeadDim: c.HeadDim,
		Scale: float32(1 / math.Sqrt(float64(c.HeadDim))), Window: window,
	}
}

// wanted drops the rows of x and y that are not read after the last attention.
func (m *base) wanted(b *graph.Builder, i int, x, y graph.Value) (graph.Value, graph.Value) {
	if i < m.c.Layers-1 {
		return x, y
	}
	return b.Take(x, b.Wanted()), b.Take(y, b.Wanted())
}

// A norm is the weights of an RMSNorm or a LayerNorm.
type norm struct{ w, b *weights.Tensor }

func (n norm) rms(b *graph.Builder, x graph.Value, eps float32) graph.Value {
	x = b.RMSNorm(x, n.w, eps)
	if n.b != nil {
		x = b.Bias(x, n.b)
	}
	return x
}

func (n norm) layer(b *graph.Builder, x graph.Value, eps float32) graph.Value {
	return b.LayerNorm(x, n.w, n.b, eps)
}

// ones is the weights of a norm that has none.
func ones(n int) *weights.Tensor { return floats("ones", slices.Repeat([]float32{1}, n)) }

// A linear is a projection; b is nil where there is no bias.
type linear struct{ w, b *weights.Tensor }

func (l linear) of(b *graph.Builder, x graph.Value) graph.Value { return b.Linear(x, l.w, l.b) }

func (t *tensors) norm(name string, n int) norm {
	return norm{t.need(name+".weight", n), t.maybe(name+".bias", n)}
}

func (t *tensors) linear(name string, out, in int) linear {
	return linear{t.need(name+".weight", out, in), t.maybe(name+".bias", out)}
}

// blk names a tensor of layer i.
func blk(i int, name string) string { return fmt.Sprintf("blk.%d.%s", i, name) }

// cut returns rows from up to to of a matrix, or those elements of a vector.
func (t *tensors) cut(w *weights.Tensor, name string, from, to int) *weights.Tensor {
	if w == nil || t.err != nil {
		return nil
	}
	width := 1
	shape := []int{to - from}
	if len(w.Shape) == 2 {
		width = w.Shape[1]
		shape = append(shape, width)
	}
	start, ok1 := w.Type.Size(from * width)
	end, ok2 := w.Type.Size(to * width)
	if !ok1 || !ok2 {
		t.err = fmt.Errorf("%w: %s of %v cannot be cut at %d and %d", ErrUnsupported, w.Name, w.Type, from, to)
		return nil
	}
	rows := &weights.Tensor{Name: w.Name + " " + name, Type: w.Type, Shape: shape}
	if t.parts == nil {
		t.parts = make(map[*weights.Tensor]part)
	}
	t.parts[rows] = part{w.Name, from}
	if w.Data != nil {
		rows.Data = w.Data[start:end:end]
		return rows
	}
	t.set.OnFill(func() error {
		rows.Data = w.Data[start:end:end]
		return nil
	})
	return rows
}

// row is a vector as a matrix of one row.
func (t *tensors) row(w *weights.Tensor) *weights.Tensor {
	if w == nil || t.err != nil {
		return nil
	}
	return t.as(w, 1, w.Shape[0])
}

// reshaped is need for a tensor that files have in several shapes of one size.
func (t *tensors) reshaped(name string, shape ...int) *weights.Tensor {
	w, ok := t.set.Tensor(name)
	if !ok {
		return t.need(name, shape...)
	}
	if n := graph.Shape(shape).Elems(); w.Elems() != n {
		return t.need(name, shape...)
	}
	return t.as(w, shape...)
}

// as is w in another shape of the same size.
func (t *tensors) as(w *weights.Tensor, shape ...int) *weights.Tensor {
	m := &weights.Tensor{Name: w.Name, Type: w.Type, Shape: shape, Data: w.Data}
	if w.Data == nil {
		t.set.OnFill(func() error {
			m.Data = w.Data
			return nil
		})
	}
	return m
}

// split cuts a fused projection into parts of the given numbers of rows.
func (t *tensors) split(l linear, names []string, rows ...int) []linear {
	parts := make([]linear, len(rows))
	at := 0
	for i, n := range rows {
		parts[i].w = t.cut(l.w, names[i], at, at+n)
		parts[i].b = t.cut(l.b, names[i], at, at+n)
		at += n
	}
	return parts
}

// An attention is the weights of one layer's attention.
type attention struct {
	q, k, v, o   linear
	qNorm, kNorm *weights.Tensor // per head or over all heads; nil in most models
	turned       bool            // these norms come behind the rotation
	layerNorm    bool            // they are LayerNorm
	clamp        float32         // all three are kept within ±clamp; 0 for no limit
	gate         linear          // its sigmoid multiplies what comes out; nil for none
	temper       graph.Temper    // of queries; its Period is 0 for none
}

// attention finds the projections of layer i, fused in attn_qkv or apart.
func (m *base) attention(i int) attention {
	c, t := &m.c, &m.tensors
	q, kv := c.Heads*c.HeadDim, c.KVHeads*c.HeadDim
	a := attention{o: t.linear(blk(i, "attn_output"), c.Hidden, q)}
	if _, ok := t.set.Tensor(blk(i, "attn_qkv.weight")); ok {
		parts := t.split(t.linear(blk(i, "attn_qkv"), q+2*kv, c.Hidden), []string{"q", "k", "v"}, q, kv, kv)
		a.q, a.k, a.v = parts[0], parts[1], parts[2]
		return a
	}
	a.q = t.linear(blk(i, "attn_q"), q, c.Hidden)
	a.k = t.linear(blk(i, "attn_k"), kv, c.Hidden)
	a.v = t.linear(blk(i, "attn_v"), kv, c.Hidden)
	return a
}

// headNorms finds the norms of query and key heads.
func (m *base) headNorms(i int, a *attention) {
	a.qNorm = m.tensors.need(blk(i, "attn_q_norm.weight"), m.c.HeadDim)
	a.kNorm = m.tensors.need(blk(i, "attn_k_norm.weight"), m.c.HeadDim)
}

// of records attention over h up to the output projection. A nil rope rotates
// nothing.
func (a *attention) of(b *graph.Builder, h graph.Value, rope *graph.Rope, eps float32, o graph.Attention) graph.Value {
	q, k, v := a.q.of(b, h), a.k.of(b, h), a.v.of(b, h)
	if a.clamp > 0 {
		q, k, v = b.Clamp(q, a.clamp), b.Clamp(k, a.clamp), b.Clamp(v, a.clamp)
	}
	norms := func() {
		switch {
		case a.qNorm == nil:
		case a.layerNorm:
			q, k = b.LayerNorm(q, a.qNorm, nil, eps), b.LayerNorm(k, a.kNorm, nil, eps)
		default:
			q, k = b.RMSNorm(q, a.qNorm, eps), b.RMSNorm(k, a.kNorm, eps)
		}
	}
	if !a.turned {
		norms()
	}
	if rope != nil {
		q, k = b.Rope(q, b.Positions(), *rope), b.Rope(k, b.Positions(), *rope)
	}
	if a.turned {
		norms()
	}
	if a.temper.Period > 0 {
		q = b.Temper(q, b.Positions(), a.temper)
	}
	y := b.Attention(q, k, v, o)
	if a.gate.w != nil {
		y = b.Gate(a.gate.of(b, h), y, graph.Sigmoid)
	}
	return y
}

// An mlp is a feed-forward block; one without a gate has only up and down.
type mlp struct{ gate, up, down linear }

// gated finds a block with a gate, whose rows may come before up's in ffn_up.
func (m *base) gated(i int) mlp {
	c, t := &m.c, &m.tensors
	f := mlp{down: t.linear(blk(i, "ffn_down"), c.Hidden, c.FF)}
	if _, ok := t.set.Tensor(blk(i, "ffn_gate.weight")); ok {
		f.gate, f.up = t.linear(blk(i, "ffn_gate"), c.FF, c.Hidden), t.linear(blk(i, "ffn_up"), c.FF, c.Hidden)
		return f
	}
	parts := t.split(t.linear(blk(i, "ffn_up"), 2*c.FF, c.Hidden), []string{"gate", "up"}, c.FF, c.FF)
	f.gate, f.up = parts[0], parts[1]
	return f
}

// plain finds a block without a gate.
func (m *base) plain(i int) mlp {
	c, t := &m.c, &m.tensors
	return mlp{up: t.linear(blk(i, "ffn_up"), c.FF, c.Hidden), down: t.linear(blk(i, "ffn_down"), c.Hidden, c.FF)}
}

func (f *mlp) of(b *graph.Builder, h graph.Value, act graph.Act) graph.Value {
	if f.gate.w == nil {
		return f.down.of(b, b.Activate(f.up.of(b, h), act))
	}
	return f.down.of(b, b.Gate(f.gate.of(b, h), f.up.of(b, h), act))
}
