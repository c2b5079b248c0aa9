package local

import (
	"context"
	"fmt"
	"math"
	"sync"

	"quern/engine"
	"quern/engine/graph"
	"quern/engine/lm"
	"quern/engine/model"
	"quern/engine/token"
)

// Embed implements engine.Lease.
func (l *lease) Embed(ctx context.Context, r engine.EmbedRequest) (engine.EmbedResult, error) {
	m, done, err := use[*textModel](l, engine.KindEmbedding, r.KeepAlive)
	if err != nil {
		return engine.EmbedResult{}, err
	}
	defer done()
	if m.encoder == nil {
		return engine.EmbedResult{}, engine.Errorf(engine.CodeModelNotSupported, "model", "model %q gives logits only and makes no embeddings", m.ID)
	}
	return m.vectors(ctx, &r, func(i int) string {
		if len(r.Inputs) > 1 {
			return fmt.Sprintf("input[%d]", i)
		}
		return "input"
	})
}

// vectors turns texts into vectors, with what r asks for checked. name says what
// clients call input i.
func (m *textModel) vectors(ctx context.Context, r *engine.EmbedRequest, name func(i int) string) (res engine.EmbedResult, err error) {
	c := m.Config
	switch {
	case r.Dimensions == 0 || r.Dimensions == c.Hidden:
	case !m.embed.matryoshka:
		return engine.EmbedResult{}, engine.Errorf(engine.CodeInvalidValue, "dimensions", "model %q makes vectors of %d dimensions and was not trained for others (matryoshka: true says it was)", m.ID, c.Hidden)
	case r.Dimensions > c.Hidden || r.Dimensions < 0:
		return engine.EmbedResult{}, engine.Errorf(engine.CodeInvalidValue, "dimensions", "model %q makes vectors of at most %d dimensions, not %d", m.ID, c.Hidden, r.Dimensions)
	}
	if r.InputType != "" && !m.embed.known {
		return engine.EmbedResult{}, engine.Errorf(engine.CodeUnsupportedParam, "input_type", "what model %q wants before a %s is not known; configure query_prefix and document_prefix, or put it in front of the input", m.ID, r.InputType)
	}
	prefix := m.embed.prefix(r.InputType)
	inputs := make([][]token.ID, len(r.Inputs))
	for i, in := range r.Inputs {
		param := name(i)
		ids, n := in.Tokens, size{tokens: len(in.Tokens)}
		if ids == nil {
			text := prefix + in.Text
			ids, n, err = m.alone(ctx, text, m.Context, r.Truncate, func(e token.Encoder) ([]token.ID, error) {
				return e.EncodeSequence(nil, text, false)
			})
			if err != nil {
				return engine.EmbedResult{}, err
			}
		} else if prefix != "" {
			return engine.EmbedResult{}, engine.Errorf(engine.CodeInvalidValue, param, "%s is tokens, before which input_type cannot put a text", param)
		} else if err := m.known(ids, param); err != nil {
			return engine.EmbedResult{}, err
		}
		if n.tokens == 0 {
			return engine.EmbedResult{}, engine.Errorf(engine.CodeInvalidValue, param, "%s has no tokens", param)
		}
		if n.tokens > m.Context {
			if !r.Truncate {
				return engine.EmbedResult{}, m.tooLong(param, n)
			}
			ids = ids[:m.Context]
		}
		inputs[i] = ids
		res.PromptTokens += len(ids)
	}
	if res.Vectors, err = m.encoder.run(ctx, inputs); err != nil {
		if ctx.Err() != nil {
			return engine.EmbedResult{}, ctx.Err()
		}
		return engine.EmbedResult{}, &engine.Error{Code: engine.CodeEngineFailure, Message: "the model stopped unexpectedly", Err: err}
	}
	for i, v := range res.Vectors {
		if !finite(v) {
			return engine.EmbedResult{}, engine.Errorf(engine.CodeEngineFailure, "", "the vector of input %d is not finite", i)
		}
		if r.Dimensions > 0 {
			v = v[:r.Dimensions]
			res.Vectors[i] = v
		}
		if !r.Raw {
			normalise(v)
		}
	}
	return res, nil
}

// known checks that ids are tokens of the model.
func (m *textModel) known(ids []token.ID, param string) error {
	size := token.ID(m.Config.Vocab)
	for _, id := range ids {
		if id < 0 || id >= size {
			return engine.Errorf(engine.CodeInvalidValue, param, "%s holds token %d; the vocabulary has %d tokens", param, id, size)
		}
	}
	return nil
}

func finite(v []float32) bool {
	for _, x := range v {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return false
		}
	}
	return true
}

// normalise scales v to length 1. A zero vector stays.
func normalise(v []float32) {
	var ss float64
	for _, x := range v {
		ss += float64(x) * float64(x)
	}
	if ss == 0 {
		return
	}
	f := float32(1 / math.Sqrt(ss))
	for i := range v {
		v[i] *= f
	}
}

// An encoder turns texts, each at least one token, into one vector each.
type encoder interface {
	run(ctx context.Context, inputs [][]token.ID) ([][]float32, error)
}

// An embedder is the encoder of recorded models. It runs texts through a model up to its last norm and pools the
// rows. Several short texts share a step; a long one takes several. Its cache
// is its own: embeddings need keys and values only while they run.
type embedder struct {
	ctx     context.Context // of the engine: who asks first may leave before the weights are placed
	backend graph.Backend
	watch   graph.Watch
	lm      model.LM
	lm.EncoderPlan

	turn  chan struct{} // holds one while texts run
	mu    sync.Mutex
	exec  graph.Exec
	cache graph.Cache
}

// prepare notes what to run; nothing is allocated until open.
func (d *embedder) prepare(m model.LM, p lm.EncoderPlan) {
	d.lm, d.EncoderPlan, d.turn = m, p, make(chan struct{}, 1)
}

// open compiles the Program on first use. mu is held, or nobody else knows d.
func (d *embedder) open() error {
	if d.exec != nil {
		return nil
	}
	b := graph.NewBuilder(d.Rows, d.Rows)
	p, err := b.Compile(d.lm.Hidden(b))
	if err != nil {
		return err
	}
	if d.cache == nil {
		if d.cache, err = d.backend.NewCache(d.Spec); err != nil {
			return err
		}
	}
	d.exec, err = d.backend.Compile(d.ctx, p, d.watch)
	return err
}

func (d *embedder) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.exec != nil {
		d.exec.Close()
	}
	if d.cache != nil {
		d.cache.Close()
	}
	d.exec, d.cache = nil, nil
}

func (d *embedder) run(ctx context.Context, inputs [][]token.ID) ([][]float32, error) {
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.open(); err != nil {
		return nil, err
	}
	out := make([][]float32, len(inputs))
	for i := 0; i < len(inputs); {
		// As many whole texts as fit a step, or one that does not.
		n, rows := i+1, len(inputs[i])
		for n < len(inputs) && rows+len(inputs[n]) <= d.Rows {
			rows += len(inputs[n])
			n++
		}
		if err := d.wave(ctx, inputs[i:n], out[i:n]); err != nil {
			return nil, err
		}
		i = n
	}
	return out, nil
}

// wave runs texts that together fit one step, or a single longer one.
func (d *embedder) wave(ctx context.Context, texts [][]token.ID, out [][]float32) error {
	c := d.lm.Config()
	var tables [][]int32
	next := int32(0)
	for i, t := range texts {
		var table []int32
		for range (len(t) + d.Spec.BlockSize - 1) / d.Spec.BlockSize {
			table = append(table, next)
			next++
		}
		tables = append(tables, table)
		out[i] = make([]float32, c.Hidden)
	}
	in := &graph.Batch{Tables: tables}
	flush := func() error {
		res, err := d.exec.Run(ctx, in, d.cache)
		if err != nil {
			return err
		}
		for r, s := range in.Seq {
			pool(out[s], res[0][r*c.Hidden:(r+1)*c.Hidden], c.Pooling, int(in.Positions[r]), len(texts[s]))
		}
		*in = graph.Batch{Tables: tables}
		return nil
	}
	for s, t := range texts {
		for pos, id := range t {
			in.Want = append(in.Want, int32(len(in.Tokens)))
			in.Tokens, in.Positions, in.Seq = append(in.Tokens, id), append(in.Positions, int32(pos)), append(in.Seq, int32(s))
			if len(in.Tokens) == d.Rows {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	if len(in.Tokens) > 0 {
		return flush()
	}
	return nil
}

// pool adds the row at position pos of a text of n tokens to its vector. Models
// that do not say how they pool take the mean.
func pool(dst, row []float32, p model.Pooling, pos, n int) {
	switch {
	case p == model.PoolLast && pos != n-1, p == model.PoolCLS && pos != 0:
		return
	case p == model.PoolLast, p == model.PoolCLS:
		copy(dst, row)
		return
	}
	for i, x := range row {
		dst[i] += x / float32(n)
	}
}
