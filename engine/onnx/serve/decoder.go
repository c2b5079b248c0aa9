package serve

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"quern/engine/graph"
	"quern/engine/model"
	"quern/engine/onnx"
	fonnx "quern/formats/onnx"
)

// pastPrefix begins the names of the inputs that take keys and values of tokens
// before, as in past_key_values.0.key.
const pastPrefix = "past_key_values."

// useCache is an input that says which of two graphs inside one is meant: that
// for the tokens after the first, or the other, which ignores the past.
const useCache = "use_cache_branch"

// hiddenStates is the input that takes what an encoder found.
const hiddenStates = "encoder_hidden_states"

// A Decoder runs a decoder graph for the scheduler: it is a graph.Exec
// whose sequences go through the graph one after the other, each with the keys
// and values that its blocks of a cache hold. So the reply to one does not
// depend on the others, to the bit.
//
// A graph that takes no past reads the whole sequence for every token. Its
// blocks hold the tokens.
type Decoder struct {
	Vocab int // logits of a token

	first, next *Graph // for a sequence's start, and for what follows; often one
	past        []past // empty: the graph takes none
	size        int    // tokens of a block
	perBlock    int    // floats
	oneByOne    bool   // next was made for one token at a time
	logits      []float32
	rows        []graph.Row
	handout     graph.Handout
}

// A past is an input of shape (1, heads, tokens, dim) and the output that
// has the same for the tokens up to now. In a block it lies at offset, as
// (heads, size, dim). Of cross-attention it is not kept in blocks: it is the
// same for all tokens, and the first step of a sequence gives it.
type past struct {
	in, out    string
	elem       fonnx.DType
	heads, dim int
	cross      bool
	size       int
	offset     int
}

// decoderInputs say what stands in the inputs of a decoder beside the past: n
// tokens after past ones, of which logits are wanted from keep on.
var decoderInputs = map[string]func(s *step, v *fonnx.Value) *onnx.Tensor{
	"input_ids": func(s *step, v *fonnx.Value) *onnx.Tensor {
		return tensorOf(v, s.tokens, 1, len(s.tokens))
	},
	"attention_mask": func(s *step, v *fonnx.Value) *onnx.Tensor {
		return tensorOf(v, slices.Repeat([]int64{1}, s.past+len(s.tokens)), 1, s.past+len(s.tokens))
	},
	"position_ids": func(s *step, v *fonnx.Value) *onnx.Tensor {
		return tensorOf(v, s.positions(), 1, len(s.tokens))
	},
	"cache_position": func(s *step, v *fonnx.Value) *onnx.Tensor {
		return tensorOf(v, s.positions(), len(s.tokens))
	},
	useCache: func(s *step, v *fonnx.Value) *onnx.Tensor {
		on := int64(0)
		if s.past > 0 {
			on = 1
		}
		return tensorOf(v, []int64{on}, 1)
	},
	hiddenStates: func(s *step, _ *fonnx.Value) *onnx.Tensor { return s.memory.states },
	"num_logits_to_keep": func(s *step, v *fonnx.Value) *onnx.Tensor {
		return tensorOf(v, []int64{int64(s.keep)}, slices.Repeat([]int{1}, len(v.Type.Dims))...)
	},
}

// A step is a run of the graph over the next tokens of one sequence.
type step struct {
	tokens []int64
	past   int // tokens before
	keep   int // of tokens, the last ones whose logits are read; at least 1
	table  []int32
	memory *memory // what cross-attention reads; nil without it
}

func (s *step) positions() []int64 {
	at := make([]int64, len(s.tokens))
	for i := range at {
		at[i] = int64(s.past + i)
	}
	return at
}

// Decoder makes what runs the graphs of a language model whose cache has blocks of
// that many tokens. It fails for one that continues what an encoder read.
func (h *Head) Decoder(ctx context.Context, on Host, size int) (*Decoder, error) {
	first, err := on.Graph(ctx, h.graph)
	if err != nil {
		return nil, err
	}
	next := first
	if h.second != nil {
		if next, err = on.Graph(ctx, h.second); err != nil {
			return nil, err
		}
	}
	d, err := newDecoder(first, next, size)
	if err != nil {
		return nil, err
	}
	if d.crosses() {
		return nil, fmt.Errorf("%w: a decoder that continues what an encoder read, which no endpoint for text does", model.ErrUnsupported)
	}
	// One token says how many logits it has.
	out, err := d.first.Run(ctx, d.inputs(d.first, &step{tokens: []int64{0}, keep: 1}, nil))
	if err != nil {
		return nil, err
	}
	t, err := rows(out, "logits", 1, 1, -1)
	if err != nil {
		return nil, err
	}
	d.Vocab = t.Shape[2]
	return d, nil
}

// Remembers reports whether the graph takes keys and values of the past. Of one that
// does not, every token costs as much as the whole text.
func (d *Decoder) Remembers() bool { return len(d.past) > 0 }

// BlockBytes is what a block of the cache takes.
func (d *Decoder) BlockBytes() int64 { return 4 * int64(d.perBlock) }

// Cache makes a cache of blocks.
func (d *Decoder) Cache(blocks int) graph.Cache { return newCache(d.perBlock, blocks) }

// newDecoder makes a decoder whose cache has blocks of that many tokens.
func newDecoder(first, next *Graph, size int) (*Decoder, error) {
	d := &Decoder{first: first, next: next, size: size, oneByOne: first != next}
	for _, g := range []*Graph{first, next} {
		for _, in := range g.inputs {
			if !strings.HasPrefix(in.Name, pastPrefix) && decoderInputs[in.Name] == nil {
				return nil, fmt.Errorf("%w: the decoder wants an input %q %s, which quern cannot give", model.ErrUnsupported, in.Name, describeDims(in.Type.Dims))
			}
			if in.Name == "position_ids" && len(in.Type.Dims) != 2 {
				return nil, fmt.Errorf("%w: positions of %s, want (texts, tokens)", model.ErrUnsupported, describeDims(in.Type.Dims))
			}
			d.oneByOne = d.oneByOne || in.Name == useCache
		}
		if !slices.ContainsFunc(g.outputs, func(v fonnx.Value) bool { return v.Name == "logits" }) {
			return nil, fmt.Errorf("%w: the decoder gives no logits but %s", model.ErrUnsupported, describeValues(g.outputs))
		}
	}
	for _, in := range next.inputs {
		name, ok := strings.CutPrefix(in.Name, pastPrefix)
		if !ok {
			continue
		}
		dims := in.Type.Dims
		if len(dims) != 4 || dims[1].Size < 1 || dims[3].Size < 1 || dims[1].Size > 1<<12 || dims[3].Size > 1<<16 {
			return nil, fmt.Errorf("%w: the past of %s is %s, want (texts, heads, tokens, width) with numbers for heads and width", model.ErrUnsupported, in.Name, describeDims(dims))
		}
		p := past{in: in.Name, out: "present." + name, elem: in.Type.Elem, heads: int(dims[1].Size), dim: int(dims[3].Size),
			cross: strings.Contains(name, ".encoder."), size: size, offset: d.perBlock}
		for _, g := range []*Graph{first, next} {
			if p.cross && g != first {
				continue // it stays as it was
			}
			if !slices.ContainsFunc(g.outputs, func(v fonnx.Value) bool { return v.Name == p.out }) {
				return nil, fmt.Errorf("%w: the decoder has an input %q and no output %q", model.ErrUnsupported, p.in, p.out)
			}
		}
		if !p.cross {
			d.perBlock += p.heads * p.dim * size
		}
		d.past = append(d.past, p)
	}
	switch {
	case len(d.past) == 0:
		d.perBlock = size
	case d.perBlock == 0:
		return nil, fmt.Errorf("%w: the decoder takes keys and values of an encoder and none of its own", model.ErrUnsupported)
	}
	return d, nil
}

// crosses reports whether the decoder attends to an encoder.
func (d *Decoder) crosses() bool {
	return slices.ContainsFunc(d.past, func(p past) bool { return p.cross }) ||
		slices.ContainsFunc(slices.Concat(d.first.inputs, d.next.inputs), func(v fonnx.Value) bool { return v.Name == hiddenStates })
}

// whole makes s a step over all tokens of a sequence, which the blocks keep.
func (d *Decoder) whole(s *step, c *cache) {
	all := make([]int64, s.past, s.past+len(s.tokens))
	for i := range all {
		all[i] = int64(c.block(s.table[i/d.size])[i%d.size])
	}
	for i, id := range s.tokens { // below 2²⁴, as all vocabularies are
		at := s.past + i
		c.block(s.table[at/d.size])[at%d.size] = float32(id)
	}
	s.tokens, s.past = append(all, s.tokens...), 0
}

// inputs makes what g reads in a step.
func (d *Decoder) inputs(g *Graph, s *step, c *cache) map[string]*onnx.Tensor {
	in := make(map[string]*onnx.Tensor)
	for i := range g.inputs {
		v := &g.inputs[i]
		if value := decoderInputs[v.Name]; value != nil {
			in[v.Name] = value(s, v)
		}
	}
	for i := range d.past {
		p := &d.past[i]
		if slices.ContainsFunc(g.inputs, func(v fonnx.Value) bool { return v.Name == p.in }) {
			in[p.in] = p.gather(c, s)
		}
	}
	return in
}

// gather puts what the blocks of a sequence hold together.
func (p *past) gather(c *cache, s *step) *onnx.Tensor {
	if p.cross && s.past > 0 && s.memory.cross[p.in] != nil {
		return s.memory.cross[p.in]
	}
	if p.cross {
		return &onnx.Tensor{Type: p.elem, Shape: []int{1, p.heads, 0, p.dim}, F: []float32{}}
	}
	t := &onnx.Tensor{Type: p.elem, Shape: []int{1, p.heads, s.past, p.dim}, F: make([]float32, p.heads*s.past*p.dim)}
	for h := range p.heads {
		for at := 0; at < s.past; at += p.size {
			n := min(p.size, s.past-at)
			copy(t.F[(h*s.past+at)*p.dim:][:n*p.dim], c.block(s.table[at/p.size])[p.offset+h*p.size*p.dim:])
		}
	}
	return t
}

// scatter writes the rows of the step's tokens to the blocks.
func (p *past) scatter(c *cache, s *step, out map[string]*onnx.Tensor) error {
	if p.cross {
		if s.past == 0 {
			t, err := rows(out, p.out, 1, p.heads, -1, p.dim)
			if err != nil {
				return err
			}
			s.memory.cross[p.in] = t
		}
		return nil
	}
	total := s.past + len(s.tokens)
	t, err := rows(out, p.out, 1, p.heads, total, p.dim)
	if err != nil {
		return err
	}
	for h := range p.heads {
		for at := s.past; at < total; {
			in := at % p.size
			n := min(p.size-in, total-at)
			copy(c.block(s.table[at/p.size])[p.offset+(h*p.size+in)*p.dim:][:n*p.dim], t.F[(h*total+at)*p.dim:])
			at += n
		}
	}
	return nil
}

// Run implements graph.Exec.
func (d *Decoder) Run(ctx context.Context, in *graph.Batch, kv graph.Cache) ([][]float32, error) {
	c := kv.(*cache)
	d.logits = d.logits[:0]
	want := in.Want
	for from := 0; from < len(in.Tokens); {
		to := from + 1
		for to < len(in.Tokens) && in.Seq[to] == in.Seq[from] {
			to++
		}
		// One row at a time where the graph was made for that.
		for from < to {
			end := to
			if d.oneByOne && in.Positions[from] > 0 {
				end = from + 1
			}
			s := &step{past: int(in.Positions[from]), table: in.Tables[in.Seq[from]], keep: 1}
			if in.Memory != nil {
				s.memory = c.recall(in.Memory[in.Seq[from]])
			}
			for _, id := range in.Tokens[from:end] {
				s.tokens = append(s.tokens, int64(id))
			}
			wanted := 0
			for wanted < len(want) && int(want[wanted]) < end {
				wanted++
			}
			if wanted > 0 {
				s.keep = end - int(want[0])
			}
			if err := d.advance(ctx, s, c, want[:wanted], from); err != nil {
				return nil, err
			}
			want, from = want[wanted:], end
		}
	}
	if in.Take == nil {
		return [][]float32{d.logits}, nil
	}
	d.rows = d.rows[:0]
	for row := range slices.Chunk(d.logits, max(1, len(d.logits)/max(1, len(in.Want)))) {
		d.rows = append(d.rows, graph.Row{Logits: row})
	}
	d.handout.Give(in.Take, d.rows)
	return [][]float32{nil}, nil
}

// advance runs the graph over s, keeps what it computed and appends the logits of
// the wanted rows; row numbers count from that of the step's first token, base.
func (d *Decoder) advance(ctx context.Context, s *step, c *cache, want []int32, base int) error {
	fresh := len(s.tokens)
	if len(d.past) == 0 {
		d.whole(s, c)
	}
	g := d.next
	if s.past == 0 {
		g = d.first
	}
	out, err := g.Run(ctx, d.inputs(g, s, c))
	if err != nil {
		return err
	}
	for i := range d.past {
		if err := d.past[i].scatter(c, s, out); err != nil {
			return err
		}
	}
	if len(want) == 0 {
		return nil
	}
	t, err := rows(out, "logits", 1, -1, -1)
	if err != nil {
		return err
	}
	given, vocab := t.Shape[1], t.Shape[2]
	for _, r := range want {
		// The last rows are given, if not all.
		at := int(r) - base - (fresh - given)
		if at < 0 || at >= given {
			return fmt.Errorf("%w: the decoder gives logits of %d tokens of %d", model.ErrUnsupported, given, len(s.tokens))
		}
		d.logits = append(d.logits, t.F[at*vocab:(at+1)*vocab]...)
	}
	return nil
}

// Close implements graph.Exec.
func (d *Decoder) Close() error { return nil }
