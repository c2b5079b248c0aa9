package cuda

import (
	"context"
	"errors"
	"fmt"

	"quern/engine/graph"
	"quern/kernels/cuda/driver"
)

// An exec is a Program in parts: the processor's, if any, and then one a device.
type exec struct {
	b     *Backend
	p     *graph.Program
	age   int
	watch graph.Watch
	host  graph.Exec
	over  []int // values the processor hands over

	parts   []*part
	results [][]float32
	rows    []graph.Row // for Batch.Take
	handout graph.Handout
	below   graph.Batch // what the processor's part is given
	limits  graph.Limits
	uses    []int // of each value, by steps and as results
	states  []portion
	asks    bool // rows that are wanted are rotated or see tokens
}

// newExec cuts the Program up. Nothing is on the devices yet.
func (b *Backend) newExec(ctx context.Context, p *graph.Program) (*exec, error) {
	e := &exec{b: b, p: p, limits: p.Limits(), results: make([][]float32, len(p.Results))}
	e.uses = make([]int, len(p.Values))
	for _, v := range p.Results {
		e.uses[v]++
	}
	for _, s := range p.Steps {
		for _, v := range s.In {
			e.uses[v]++
		}
		switch s.Op.(type) {
		case graph.Rope, graph.SharedAttention:
			e.asks = e.asks || p.Values[s.Out].Lead == graph.PerWant
		}
	}
	host, dev := b.spans(e.limits.Layers)
	// The first part with steps takes what stands before its first layer.
	var starts []int
	var owners []int // device of each part
	if host.to > 0 {
		starts = append(starts, host.to)
	}
	for i, l := range dev {
		if l.from == l.to && e.limits.Layers > 0 || e.limits.Layers == 0 && i > 0 {
			continue
		}
		if len(owners) > 0 {
			starts = append(starts, l.from)
		}
		owners = append(owners, i)
	}
	list := cuts(p, starts)
	at, over := 0, []int(nil)
	if host.to > 0 {
		var err error
		if e.host, err = b.o.Host.Compile(ctx, before(p, list[0]), graph.Watch{}); err != nil {
			return nil, err
		}
		at, over, e.over = list[0].at, list[0].over, list[0].over
		list = list[1:]
	}
	at0 := at // steps of the processor
	for i, o := range owners {
		next := cut{len(p.Steps), p.Results}
		if i < len(list) {
			next = list[i]
		}
		e.parts = append(e.parts, &part{
			e: e, d: b.devices[o], layers: dev[o], steps: p.Steps[at:next.at], in: over, out: next.over,
			graphs: make(map[graphKey]*replay),
		})
		at, over = next.at, next.over
	}
	if e.limits.State > 0 {
		e.states = whose(p.Steps[:at0], e.parts, b.devices)
	}
	return e, nil
}

// apart says which layer's keys a part needs that another has, nil for none.
func (e *exec) apart() error {
	for _, p := range e.parts {
		for _, s := range p.steps {
			if o, is := s.Op.(graph.SharedAttention); is && (o.Layer < p.layers.from || o.Layer >= p.layers.to) {
				return fmt.Errorf("cuda: layers share the keys of layer %d, which another device or the processor has", o.Layer)
			}
		}
	}
	return nil
}

// place uploads weights and reserves buffers, after a look at whether they fit.
func (e *exec) place(ctx context.Context, progress func(done, total int64)) error {
	var total, sent int64
	for _, p := range e.parts {
		p.plan()
		need := p.memory
		for _, k := range p.weights {
			if p.d.placed[k] == nil {
				need += sizeOn(k.t, k.vector)
			}
		}
		if err := p.d.ctx.Enter(); err != nil {
			return err
		}
		free, _, err := p.d.ctx.Memory()
		if err != nil {
			return err
		}
		if need > free {
			return fmt.Errorf("%w: layers %d to %d need %d MiB and device %d (%s) has %d MiB free; fewer layers there (--gpu-layers) or a smaller cache would fit",
				driver.ErrMemory, p.layers.from, p.layers.to-1, need>>20, p.d.id, p.d.info.Name, free>>20)
		}
		total += need - p.memory
	}
	for _, p := range e.parts {
		if err := p.d.ctx.Enter(); err != nil {
			return err
		}
		if err := p.place(ctx, func(n int64) {
			if sent += n; progress != nil {
				progress(sent, total)
			}
		}); err != nil {
			return err
		}
	}
	return nil
}

// Close implements graph.Exec.
func (e *exec) Close() (err error) {
	if e.host != nil {
		err = e.host.Close()
		e.host = nil
	}
	parts := e.parts
	e.parts = nil
	freed := e.b.do(func() error {
		if e.b.lost(e.age) != nil {
			return nil // went with the contexts
		}
		for _, p := range parts {
			if err := p.free(); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = freed
	}
	return err
}

// Run implements graph.Exec. It returns early between two parts only. The last part
// ranks logits where Batch.Take has enough in that.
func (e *exec) Run(ctx context.Context, in *graph.Batch, kv graph.Cache) ([][]float32, error) {
	var c *cache
	var spec *graph.CacheSpec
	if kv != nil {
		var ok bool
		if c, ok = kv.(*cache); !ok {
			return nil, fmt.Errorf("cuda: a cache of another backend, %T", kv)
		}
		if c.all == nil {
			spec = &c.spec
		}
		if c.parts == nil {
			c.parts = e.states
		}
	}
	if err := e.limits.Check(in, spec); err != nil {
		return nil, err
	}
	var handed [][]float32
	if e.host != nil {
		var err error
		e.below = *in
		e.below.Take, e.below.Top, e.below.Allow, e.below.Masked = nil, nil, nil, nil
		if handed, err = e.host.Run(ctx, &e.below, c.host); err != nil {
			return nil, err
		}
	}
	err := e.b.do(func() error {
		for i, p := range e.parts {
			var top []int
			if i == len(e.parts)-1 && in.Take != nil {
				top = in.Top
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := e.b.lost(e.age); err != nil {
				return err
			}
			if c != nil {
				if err := e.b.lost(c.age); err != nil {
					return err
				}
			}
			var err error
			if handed, err = p.runBatch(in, c, handed, top); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		if e.watch.Lost != nil && errors.Is(err, graph.ErrLost) {
			e.watch.Lost(err)
		}
		return nil, err
	}
	copy(e.results, handed)
	if in.Take != nil {
		// Without the device, which others may use meanwhile.
		e.rows = e.parts[len(e.parts)-1].appendRows(e.rows[:0], in, handed[0])
		e.handout.Give(in.Take, e.rows)
		e.results[0] = nil
	}
	return e.results, nil
}
