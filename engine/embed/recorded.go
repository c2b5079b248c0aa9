package embed

import (
	"context"
	"slices"

	"quern/engine/graph"
	"quern/engine/lm"
	"quern/engine/model"
	"quern/engine/token"
)

// A Recorded is the encoder of recorded models. It runs texts through a model up to its
// last norm and pools the rows. Short texts share a step, also those of several requests; a
// long one may take several. Its cache is its own: embeddings need keys and values only
// while they run.
type Recorded struct {
	on Device
	lm model.LM
	lm.EncoderPlan

	width int // numbers of a pooled row

	queue
	turn  chan struct{} // holds one while texts run, or the fields below are opened or closed
	exec  graph.Exec
	after graph.Exec // the layers behind the pooling, or nil
	cache graph.Cache
}

// A Device compiles Programs and makes caches.
type Device struct {
	Compile  func(*graph.Program) (graph.Exec, error)
	NewCache func(graph.CacheSpec) (graph.Cache, error)
}

// NewRecorded makes an encoder of a model. Nothing is allocated until Open.
func NewRecorded(on Device, m model.LM, p lm.EncoderPlan) *Recorded {
	return &Recorded{on: on, lm: m, EncoderPlan: p, width: m.Config().Hidden, turn: make(chan struct{}, 1)}
}

// Open compiles the Program, which is otherwise done on first use.
func (d *Recorded) Open() error {
	d.turn <- struct{}{}
	defer func() { <-d.turn }()
	return d.open()
}

// open compiles the Program on first use. The caller holds the turn.
func (d *Recorded) open() error {
	if d.exec != nil {
		return nil
	}
	p, err := d.Vectors(d.lm)
	if err != nil {
		return err
	}
	if d.cache == nil {
		if d.cache, err = d.on.NewCache(d.Spec); err != nil {
			return err
		}
	}
	var after *graph.Program
	if after, err = lm.Heads(d.lm); err != nil {
		return err
	}
	if after != nil && d.after == nil {
		if d.after, err = d.on.Compile(after); err != nil {
			return err
		}
	}
	d.exec, err = d.on.Compile(p)
	return err
}

// Close frees the Program and the cache.
func (d *Recorded) Close() {
	d.turn <- struct{}{}
	defer func() { <-d.turn }()
	if d.exec != nil {
		d.exec.Close()
	}
	if d.after != nil {
		d.after.Close()
	}
	if d.cache != nil {
		d.cache.Close()
	}
	d.exec, d.after, d.cache = nil, nil, nil
}

// Run implements Encoder.
func (d *Recorded) Run(ctx context.Context, inputs [][]token.ID, types [][]int64) ([][]float32, error) {
	return d.run(ctx, 0, inputs, types)
}

// An adapted encoder is the same with an adapter.
type adapted struct {
	*Recorded
	adapter int32
}

// Run implements Encoder.
func (d adapted) Run(ctx context.Context, inputs [][]token.ID, types [][]int64) ([][]float32, error) {
	return d.run(ctx, d.adapter, inputs, types)
}

// With is m with one of its adapters, numbered from 1; 0 is none.
func (m *Model) With(adapter int) *Model {
	d, ok := m.encoder.(*Recorded)
	if !ok || adapter == 0 {
		return m
	}
	with := *m
	with.encoder = adapted{d, int32(adapter)}
	return &with
}

func (d *Recorded) run(ctx context.Context, adapter int32, inputs [][]token.ID, types [][]int64) ([][]float32, error) {
	if d.lm.Config().Second > 0 && types != nil {
		inputs = d.paired(inputs, types)
	}
	r := d.add(ctx, adapter, inputs)
	defer d.remove(r)
	for {
		select {
		case <-r.done:
			if r.err != nil {
				return nil, r.err // some texts have no vector
			}
			return r.out, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		case d.turn <- struct{}{}:
			d.step()
			<-d.turn
		}
	}
}

// step runs texts of requests that wait, of each in turn. The caller holds the turn.
func (d *Recorded) step() {
	texts := d.take(d.fits)
	if len(texts) == 0 {
		return // a step of another caller has run them
	}
	err := d.open()
	if err == nil {
		err = d.wave(sharing(texts), texts)
	}
	d.ran(texts, err)
}

// fits reports whether a text fits a step beside others. A model with a state runs one at a time.
func (d *Recorded) fits(texts []waiting, next []token.ID) bool {
	rows, blocks := len(next), d.blocks(next)
	for i := range texts {
		rows += len(texts[i].tokens())
		blocks += d.blocks(texts[i].tokens())
	}
	return d.Spec.State == 0 && rows <= d.Shared && blocks <= d.Spec.Blocks
}

// blocks is how many blocks of the cache a text takes.
func (d *Recorded) blocks(text []token.ID) int {
	return (len(text) + d.Spec.BlockSize - 1) / d.Spec.BlockSize
}

// behind runs the layers behind the pooling on pooled rows.
func (d *Recorded) behind(ctx context.Context, rows [][]float32) error {
	for at := 0; at < len(rows); at += lm.HeadRows {
		some := rows[at:min(at+lm.HeadRows, len(rows))]
		in := &graph.Batch{}
		for i, x := range some {
			in.Features, in.Positions, in.Seq = append(in.Features, x...), append(in.Positions, 0), append(in.Seq, int32(i))
		}
		res, err := d.after.Run(ctx, in, nil)
		if err != nil {
			return err
		}
		n := d.lm.Config().Vector
		for i := range some {
			some[i] = slices.Clone(res[0][i*n : (i+1)*n])
		}
	}
	return nil
}

// paired numbers the tokens of second texts as the model does.
func (d *Recorded) paired(texts [][]token.ID, types [][]int64) [][]token.ID {
	out := make([][]token.ID, len(texts))
	for i, t := range texts {
		out[i] = slices.Clone(t)
		for k, of := range types[i] {
			if of > 0 {
				out[i][k] += token.ID(d.lm.Config().Second)
			}
		}
	}
	return out
}

// wave runs texts that together fit one step, or a single longer one.
func (d *Recorded) wave(ctx context.Context, texts []waiting) error {
	c := d.lm.Config()
	var tables [][]int32
	var adapters []int32
	out := make([][]float32, len(texts))
	next := int32(0)
	for i := range texts {
		var table []int32
		for range d.blocks(texts[i].tokens()) {
			table = append(table, next)
			next++
		}
		tables, adapters = append(tables, table), append(adapters, texts[i].of.adapter)
		out[i] = make([]float32, d.width)
	}
	in := &graph.Batch{Tables: tables, States: make([]int32, len(tables)), Adapters: adapters}
	flush := func() error {
		res, err := d.exec.Run(ctx, in, d.cache)
		if err != nil {
			return err
		}
		for r, at := range in.Want {
			s := in.Seq[at]
			pool(out[s], res[0][r*d.width:(r+1)*d.width], c.Pooling, len(texts[s].tokens()))
		}
		*in = graph.Batch{Tables: tables, States: in.States, Adapters: adapters}
		return nil
	}
	for s := range texts {
		t := texts[s].tokens()
		for pos, id := range t {
			if pooled(c.Pooling, pos, len(t)) {
				in.Want = append(in.Want, int32(len(in.Tokens)))
			}
			in.Tokens, in.Positions, in.Seq = append(in.Tokens, id), append(in.Positions, int32(pos)), append(in.Seq, int32(s))
			if len(in.Tokens) == d.Rows {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	if len(in.Tokens) > 0 {
		if err := flush(); err != nil {
			return err
		}
	}
	if d.after != nil {
		if err := d.behind(ctx, out); err != nil {
			return err
		}
	}
	for i := range texts {
		texts[i].of.out[texts[i].at] = out[i]
	}
	return nil
}

// pooled reports whether the row at position pos of a text of n tokens is part of its
// vector.
func pooled(p model.Pooling, pos, n int) bool {
	switch p {
	case model.PoolLast:
		return pos == n-1
	case model.PoolCLS:
		return pos == 0
	}
	return true
}

// pool adds a row to the vector of a text of n tokens. Models that do not say how they
// pool take the mean.
func pool(dst, row []float32, p model.Pooling, n int) {
	if p == model.PoolLast || p == model.PoolCLS {
		copy(dst, row)
		return
	}
	for i, x := range row {
		dst[i] += x / float32(n)
	}
}
