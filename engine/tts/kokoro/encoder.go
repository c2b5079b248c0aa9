package kokoro

import (
	"fmt"
	"math"

	"quern/kernels/attention"
	"quern/kernels/vec"
)

// A bert is ALBERT: embeddings of their own width, and one layer applied layers
// times over.
//
// Lan et al., "ALBERT: A Lite BERT for Self-supervised Learning of Language
// Representations", 2020.
type bert struct {
	word, pos, kind      []float32
	embed                int
	embedNorm, embedBias []float32
	input                *dense
	heads, layers        int
	q, k, v, out         *dense
	attnNorm, attnBias   []float32
	up, down             *dense
	fullNorm, fullBias   []float32
	positions            int
	attention            *attention.DenseAttention
}

const bertEps = 1e-12

func (l *loader) bert(cfg *config) *bert {
	const e, g = "bert.embeddings.", "bert.encoder.albert_layer_groups.0.albert_layers.0."
	b := &bert{input: l.linear("bert.encoder.embedding_hidden_mapping_in", 0)}
	if l.err != nil {
		return nil
	}
	b.embed = b.input.in
	hidden := b.input.out
	b.word = l.vector(cfg.Tokens*b.embed, e+"word_embeddings.weight")
	b.pos = l.vector(0, e+"position_embeddings.weight")
	b.positions = len(b.pos) / b.embed
	b.kind = l.vector(0, e+"token_type_embeddings.weight")
	b.embedNorm, b.embedBias = l.vector(b.embed, e+"LayerNorm.weight"), l.vector(b.embed, e+"LayerNorm.bias")
	b.q, b.k, b.v = l.linear(g+"attention.query", hidden), l.linear(g+"attention.key", hidden), l.linear(g+"attention.value", hidden)
	b.out = l.linear(g+"attention.dense", hidden)
	b.attnNorm, b.attnBias = l.vector(hidden, g+"attention.LayerNorm.weight"), l.vector(hidden, g+"attention.LayerNorm.bias")
	b.up = l.linear(g+"ffn", hidden)
	if l.err != nil {
		return nil
	}
	b.down = l.linear(g+"ffn_output", b.up.out)
	b.fullNorm, b.fullBias = l.vector(hidden, g+"full_layer_layer_norm.weight"), l.vector(hidden, g+"full_layer_layer_norm.bias")
	b.heads, b.layers = cfg.Bert.Heads, cfg.Bert.Layers
	if b.heads <= 0 || hidden%b.heads != 0 {
		l.fail("%d attention heads do not divide %d", b.heads, hidden)
	}
	if b.layers <= 0 || b.layers > 100 {
		l.fail("%d layers of ALBERT", b.layers)
	}
	if b.positions*b.embed != len(b.pos) || len(b.kind) < b.embed {
		l.fail("the embeddings of ALBERT have a wrong shape")
	}
	if l.err != nil {
		return nil
	}
	b.attention = attention.NewDenseAttention(b.heads, hidden/b.heads)
	for _, d := range []*dense{b.q, b.k, b.v, b.out, b.down} {
		if l.err == nil && d.out != hidden {
			l.fail("a layer of ALBERT has %d outputs; want %d", d.out, hidden)
		}
	}
	return b
}

// apply returns the hidden states (ids, hidden).
func (b *bert) apply(c *call, ids []int) (plane, error) {
	rows, hidden := len(ids), b.input.out
	y := c.arena.plane(rows, hidden)
	m := c.arena.mark()
	defer c.arena.release(m)
	x := c.arena.plane(rows, b.embed)
	for t, id := range ids {
		row := x.data[t*b.embed : (t+1)*b.embed]
		for i := range row {
			row[i] = b.word[id*b.embed+i] + b.kind[i] + b.pos[t*b.embed+i]
		}
	}
	vec.LayerNorm(x.data, x.data, b.embedNorm, b.embedBias, bertEps)
	b.input.m.Run(c.pool, y.data, hidden, x.data, b.embed, rows, false)
	for range b.layers {
		if err := c.ctx.Err(); err != nil {
			return plane{}, err
		}
		inner := c.arena.mark()
		a := b.attend(c, y)
		a = b.out.apply(c, a)
		vec.Add(a.data, a.data, y.data)
		vec.LayerNorm(a.data, a.data, b.attnNorm, b.attnBias, bertEps)
		f := b.up.apply(c, a)
		c.each(rows, func(from, to int) {
			part := f.data[from*f.cols : to*f.cols]
			vec.GELUTanh(part, part, nil)
		})
		f = b.down.apply(c, f)
		vec.Add(f.data, f.data, a.data)
		vec.LayerNorm(y.data, f.data, b.fullNorm, b.fullBias, bertEps)
		c.arena.release(inner)
	}
	return y, nil
}

// attend is self-attention without a mask; Vaswani et al. 2017, eq. 1.
func (b *bert) attend(c *call, x plane) plane {
	q, k, v := b.q.apply(c, x), b.k.apply(c, x), b.v.apply(c, x)
	y := c.arena.plane(x.rows, x.cols)
	scale := float32(1 / math.Sqrt(float64(x.cols/b.heads)))
	b.attention.Pack(c.pool, k.data, v.data, x.cols, x.rows)
	b.attention.Run(c.pool, y.data, x.cols, q.data, x.cols, x.rows, scale)
	return y
}

// A textEncoder turns symbols into what the decoder speaks: an embedding, three
// convolutions and a recurrent layer.
type textEncoder struct {
	embed []float32
	width int
	conv  []*convolution
	gamma [][]float32
	beta  [][]float32
	lstm  *lstm
}

func (l *loader) textEncoder(cfg *config) *textEncoder {
	e := &textEncoder{embed: l.vector(0, "text_encoder.embedding.weight")}
	if l.err != nil || len(e.embed)%cfg.Tokens != 0 {
		l.fail("the symbol embedding has %d values for %d symbols", len(e.embed), cfg.Tokens)
		return nil
	}
	e.width = len(e.embed) / cfg.Tokens
	for i := range l.count("text_encoder.cnn") {
		name := fmt.Sprintf("text_encoder.cnn.%d.", i)
		e.conv = append(e.conv, l.conv(name+"0", e.width, 1, 1, same))
		e.gamma = append(e.gamma, l.vector(e.width, name+"1.gamma", name+"1.weight"))
		e.beta = append(e.beta, l.vector(e.width, name+"1.beta", name+"1.bias"))
	}
	e.lstm = l.lstm("text_encoder.lstm", e.width)
	return e
}

func (e *textEncoder) apply(c *call, ids []int) plane {
	x := c.arena.plane(len(ids), e.width)
	for t, id := range ids {
		copy(x.data[t*e.width:(t+1)*e.width], e.embed[id*e.width:])
	}
	for i, v := range e.conv {
		x = v.apply(c, x)
		vec.LayerNorm(x.data, x.data, e.gamma[i], e.beta[i], 1e-5)
		c.leak(x, 0.2)
	}
	return e.lstm.apply(c, x)
}
