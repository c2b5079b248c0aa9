// Package cpu runs Programs on the processor.
package cpu

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"quern/engine/graph"
	"quern/formats/weights"
	"quern/kernels/attention"
	"quern/kernels/matmul"
	"quern/kernels/threads"
)

// A Backend owns the worker pool. Its Execs take turns on it, so that models
// answering at the same time share the machine.
type Backend struct {
	turn   *turn // held by the Exec that runs
	pool   *threads.Pool
	repack bool
	copies copies
}

// Open starts a backend with the given number of compute threads.
func Open(n int) *Backend {
	return &Backend{turn: newTurn(), pool: threads.NewPool(max(1, n)), repack: true, copies: copies{of: map[matrix]*copied{}}}
}

// InFileOrder switches repacking off: matrices are read from their files, without copies of those
// that are multiplied faster in another order. It is called before Compile, and returns b.
func (b *Backend) InFileOrder() *Backend {
	b.repack = false
	return b
}

// Close stops the workers. Execs and caches must be closed before.
func (b *Backend) Close() error {
	b.pool.Close()
	return nil
}

// An exec is a Program with its buffers and its steps bound to kernels.
type exec struct {
	b        *Backend
	p        *graph.Program
	buffers  [][]float32
	steps    []func()
	results  [][]float32
	acts     acts
	products *products      // that a next step may join; nil unless the last one is of them
	taken    threads.Region // of Batch.Take
	tables   []*ropeTable
	vectors  map[*weights.Tensor][]float32
	limits   graph.Limits
	copied   map[matrix]*copied // of the Backend's copies
	ends     []int32            // (rows) length of each row's sequence; nil unless a row looks ahead

	batched map[[3]int]*attention.BatchAttention // by heads, key heads and their width
	queries []attention.Query                    // (rows) of the attention at work

	// Of encoders and of decoders with cross-attention.
	encodes bool
	panels  []panels                             // by worker
	dense   map[[2]int]*attention.DenseAttention // by heads and their width

	low []float32 // products of adapters' A, of every row at most

	// The run in progress.
	in     *graph.Batch
	kv     *cache
	states []float32 // of the cache
	state  int       // float32s in a slot of these
	runs   []run     // rows of one sequence
	n      [2]int    // rows by graph.Lead

	adapted  [2][]matmul.Run // by graph.Lead: rows of one adapter
	mixtures matmul.Room
}

// Memory implements graph.Backend.
func (b *Backend) Memory() int64 { return Available() }

// Compile implements graph.Backend. Weights stay where they are but for those that are
// repacked, and no device can be lost.
func (b *Backend) Compile(ctx context.Context, p *graph.Program, w graph.Watch) (graph.Exec, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p = p.InPlace(inPlace)
	e := &exec{b: b, p: p, results: make([][]float32, len(p.Results)), vectors: make(map[*weights.Tensor][]float32), encodes: p.Encodes(), limits: p.Limits()}
	e.taken.F = func(_, want int) {
		logits, w := e.floats(p.Results[0]), e.width(p.Results[0])
		e.in.Take(want, graph.Row{Logits: logits[want*w : (want+1)*w]})
	}
	for _, n := range p.Buffers {
		e.buffers = append(e.buffers, make([]float32, n))
	}
	if err := e.repack(ctx, w); err != nil {
		e.release()
		return nil, err
	}
	for _, s := range p.Steps {
		if err := e.bind(s); err != nil {
			e.release()
			return nil, err
		}
	}
	return e, nil
}

// vector returns a small weight (a norm, a bias) as float32, decoded once.
// Matrices are used from the mapped file as they are, or as they were repacked.
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
	e.release()
	return nil
}

// Run implements graph.Exec.
func (e *exec) Run(ctx context.Context, in *graph.Batch, c graph.Cache) ([][]float32, error) {
	e.kv = nil
	var spec *graph.CacheSpec
	if c != nil {
		own, ok := c.(*cache)
		if !ok {
			return nil, fmt.Errorf("cpu: a cache of another backend, %T", c)
		}
		e.kv, spec = own, &own.spec
		e.states, e.state = own.states, own.spec.State
	}
	if err := e.limits.Check(in, spec); err != nil {
		return nil, err
	}
	e.b.turn.take()
	defer e.b.turn.give()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // files may be cut short while they are mapped
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
		// In the same turn: else the processors would idle, or another Exec would contend for them.
		e.b.turn.yield(start)
		e.b.pool.Run(len(in.Want), &e.taken)
		e.results[0] = nil
	}
	return e.results, nil
}

// findEnds sets the length of each row's sequence, for bidirectional attention.
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
