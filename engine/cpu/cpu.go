// Package cpu runs Programs on the processor.
package cpu

import (
	"context"
	"fmt"
	"math"
	"time"

	"quern/engine/graph"
	"quern/formats/weights"
	"quern/kernels/attention"
	"quern/kernels/matmul"
	"quern/kernels/offheap"
	"quern/kernels/threads"
)

// A Backend owns the worker pool. Its Execs take turns on it, so that models
// answering at the same time share the machine.
type Backend struct {
	turn *turn // held by the Exec that runs
	pool *threads.Pool
}

// Open starts a backend with the given number of compute threads.
func Open(n int) *Backend {
	return &Backend{turn: newTurn(), pool: threads.NewPool(max(1, n))}
}

// Close stops the workers. Execs and caches must be closed before.
func (b *Backend) Close() error {
	b.pool.Close()
	return nil
}

// NewCache implements graph.Backend. Memory is taken from the operating system
// as it is first written.
func (b *Backend) NewCache(s graph.CacheSpec) (graph.Cache, error) {
	layers, parts, err := lay(s)
	if err != nil {
		return nil, err
	}
	size := 0
	for _, kv := range parts {
		if size > math.MaxInt-kv.Size() {
			return nil, fmt.Errorf("cpu: a KV cache of more than %d bytes", math.MaxInt)
		}
		size += kv.Size()
	}
	data, free, err := offheap.Reserve(size)
	if err != nil {
		return nil, fmt.Errorf("cpu: a KV cache of %d bytes: %w", size, err)
	}
	for _, kv := range parts {
		kv.Data, data = data[:kv.Size():kv.Size()], data[kv.Size():]
	}
	return &cache{spec: s, layers: layers, parts: parts, size: size, states: make([]float32, s.State*s.States), free: free}, nil
}

type cache struct {
	spec   graph.CacheSpec
	layers layers
	parts  []*attention.KV // one for each kind of heads
	size   int             // of these in bytes
	// Slots of states, one after the other.
	states []float32
	free   func() error
}

// layers say where each layer of a cache lies.
type layers []struct {
	kv *attention.KV
	n  int // of kv's layers
}

func (l layers) at(layer int) (kv *attention.KV, n int) { return l[layer].kv, l[layer].n }

// lay lays out a cache: layers of the same heads lie together.
func lay(s graph.CacheSpec) (layers, []*attention.KV, error) {
	if s.Layers <= 0 || s.Heads != nil && len(s.Heads) != s.Layers {
		return nil, nil, fmt.Errorf("cpu: a KV cache of %d layers, with heads of %d", s.Layers, len(s.Heads))
	}
	count := make(map[graph.CacheHeads]int)
	for l := range s.Layers {
		count[s.HeadsOf(l)]++
	}
	var parts []*attention.KV
	at, made := make(layers, s.Layers), make(map[graph.CacheHeads]*attention.KV)
	next := make(map[graph.CacheHeads]int)
	for l := range at {
		h := s.HeadsOf(l)
		if made[h] == nil {
			kv, err := attention.NewKV(s.Type, count[h], s.Blocks, s.BlockSize, h.KVHeads, h.HeadDim)
			if err != nil {
				return nil, nil, err
			}
			kv.KeysByDimension()
			made[h], parts = kv, append(parts, kv)
		}
		at[l].kv, at[l].n = made[h], next[h]
		next[h]++
	}
	return at, parts, nil
}

func (c *cache) Copy(dst, src int32) {
	for _, kv := range c.parts {
		kv.Copy(dst, src)
	}
}

func (c *cache) Bytes() int64 { return int64(c.size) + 4*int64(len(c.states)) }

func (c *cache) CopyState(dst, src int32) {
	n := c.spec.State
	copy(c.states[int(dst)*n:(int(dst)+1)*n], c.states[int(src)*n:])
}

func (c *cache) Close() error {
	for _, kv := range c.parts {
		kv.Data = nil
	}
	return c.free()
}

// An exec is a Program with its buffers and its steps bound to kernels.
type exec struct {
	b       *Backend
	p       *graph.Program
	buffers [][]float32
	steps   []func()
	results [][]float32
	acts    acts
	taken   threads.Region // of Batch.Take
	tables  []*ropeTable
	vectors map[*weights.Tensor][]float32
	limits  graph.Limits
	ends    []int32 // (rows) length of each row's sequence; nil unless a row looks ahead

	batched map[[3]int]*attention.BatchAttention // by heads, key heads and their width
	queries []attention.Query                    // (rows) of the attention at work

	// Of encoders and of those that attend to what they found.
	encodes bool
	panels  []panels                             // by worker
	dense   map[[2]int]*attention.DenseAttention // by heads and their width

	low []float32 // what adapters' products pass through, of every row at most

	// The run in progress.
	in     *graph.Batch
	layers layers    // of the cache
	states []float32 // of the cache
	state  int       // float32s in a slot of these
	runs   []run     // rows of one sequence
	n      [2]int    // rows by graph.Lead

	adapted [2][]matmul.Run // by graph.Lead: rows of one adapter
}

// Memory implements graph.Backend.
func (b *Backend) Memory() int64 { return Available() }

// Compile implements graph.Backend. Weights stay where they are, and no device can be
// lost.
func (b *Backend) Compile(ctx context.Context, p *graph.Program, _ graph.Watch) (graph.Exec, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	e := &exec{b: b, p: p, results: make([][]float32, len(p.Results)), vectors: make(map[*weights.Tensor][]float32), encodes: p.Encodes(), limits: p.Limits()}
	e.taken.F = func(_, want int) {
		logits, w := e.floats(p.Results[0]), e.width(p.Results[0])
		e.in.Take(want, graph.Row{Logits: logits[want*w : (want+1)*w]})
	}
	for _, n := range p.Buffers {
		e.buffers = append(e.buffers, make([]float32, n))
	}
	for _, s := range p.Steps {
		if err := e.bind(s); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// vector returns a small weight (a norm, a bias) as float32, decoded once.
// Matrices are used from the mapped file as they are.
func (e *exec) vector(t *weights.Tensor) []float32 {
	if t == nil {
		return nil
	}
	v, ok := e.vectors[t]
	if !ok {
		v = make([]float32, t.Elems())
		t.Type.Layout().Decode(v, t.Data)
		e.vectors[t] = v
	}
	return v
}

func (e *exec) Close() error {
	e.buffers, e.steps, e.vectors, e.acts = nil, nil, nil, acts{}
	return nil
}

// Run implements graph.Exec.
func (e *exec) Run(ctx context.Context, in *graph.Batch, c graph.Cache) ([][]float32, error) {
	e.layers = nil
	var spec *graph.CacheSpec
	if c != nil {
		own, ok := c.(*cache)
		if !ok {
			return nil, fmt.Errorf("cpu: a cache of another backend, %T", c)
		}
		e.layers, spec = own.layers, &own.spec
		e.states, e.state = own.states, own.spec.State
	}
	if err := e.limits.Check(in, spec); err != nil {
		return nil, err
	}
	e.b.turn.take()
	defer e.b.turn.give()
	e.in = in
	e.findEnds()
	e.findRuns()
	e.findAdapters()
	e.n = [2]int{graph.PerRow: in.Rows(), graph.PerWant: len(in.Want)}
	for _, t := range e.tables {
		t.fill(in)
	}
	start := time.Now()
	for _, step := range e.steps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		start = e.b.turn.yield(start)
		step()
	}
	for i, v := range e.p.Results {
		e.results[i] = e.floats(v)
	}
	if in.Take != nil {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		// In the same turn: others would have the processors idle, or in their way.
		e.b.turn.yield(start)
		e.b.pool.Run(len(in.Want), &e.taken)
		e.results[0] = nil
	}
	return e.results, nil
}

// findEnds notes how long the sequence of each row is, for attention that looks
// ahead.
func (e *exec) findEnds() {
	if e.ends == nil {
		return
	}
	for i := len(e.in.Positions) - 1; i >= 0; i-- {
		e.ends[i] = e.in.Positions[i] + 1
		if i+1 < len(e.in.Positions) && e.in.Seq[i+1] == e.in.Seq[i] {
			e.ends[i] = e.ends[i+1]
		}
	}
}

// rows is how many leading indices of value v this run has.
func (e *exec) rows(v int) int { return e.n[e.p.Values[v].Lead] }

// width is the elements per leading index of value v.
func (e *exec) width(v int) int { return e.p.Values[v].Width() }

// floats is value v of this run.
func (e *exec) floats(v int) []float32 {
	if e.p.Values[v].Buffer < 0 {
		return e.in.Features
	}
	return e.buffers[e.p.Values[v].Buffer][:e.rows(v)*e.width(v)]
}
