// Package graphtest tests that backends and Execs keep the contracts of package graph.
package graphtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"quern/engine/graph"
	"quern/formats/weights"
	"quern/kernels/quant"
	"quern/kernels/threads"
)

// The sizes of the model that Backend runs. Interpreted GPUs are slow.
const (
	rows, want   = 8, 4
	hidden       = 64
	heads        = 2
	vocab        = 50
	blocks, size = 8, 4
)

// Backend tests the Backend that open returns, and closes it.
func Backend(t *testing.T, open func(t *testing.T) graph.Backend) {
	b := open(t)
	defer func() {
		if err := b.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}()
	p := program(t)
	if n := b.Memory(); n < 1<<20 {
		t.Errorf("%d bytes are there for models", n)
	}
	if n := b.ReadBandwidth([][]byte{make([]byte, 1<<20)}); n < 0 || math.IsNaN(n) || math.IsInf(n, 0) {
		t.Errorf("it reads %g bytes a second", n)
	}
	testDo(t, b)
	testCompile(t, b, p)

	kv, err := b.NewCache(graph.CacheSpec{Layers: graph.Alike(1, heads, hidden/heads), Blocks: blocks, BlockSize: size, Type: quant.F16})
	if err != nil {
		t.Fatal(err)
	}
	defer kv.Close()
	if least := int64(2 * 2 * hidden * blocks * size); kv.Bytes() < least {
		t.Errorf("a cache of %d bytes, want %d at least", kv.Bytes(), least)
	}
	x, err := b.Compile(t.Context(), p, graph.Watch{Lost: func(err error) { t.Errorf("lost: %v", err) }})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	Exec(t, x, kv, vocab)
	testBatches(t, x, kv)
	testCopy(t, x, kv)
	testPortable(t, x, kv)
}

// program is a small model with one layer.
func program(t *testing.T) *graph.Program {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	matrix := func(name string, shape ...int) *weights.Tensor {
		w := &weights.Tensor{Name: name, Type: quant.F32, Shape: shape}
		x := make([]float32, w.Elems())
		for i := range x {
			x[i] = float32(r.NormFloat64()) / 8
		}
		w.Data = make([]byte, 4*len(x))
		quant.F32.Layout().Encode(w.Data, x)
		return w
	}
	g := graph.NewBuilder(rows, want)
	x := g.Embed(g.Tokens(), matrix("embed", vocab, hidden))
	h := g.RMSNorm(x, matrix("norm", hidden), 1e-5)
	of := func(name string) graph.Value { return g.Linear(h, matrix(name, hidden, hidden), nil) }
	a := g.Attention(of("q"), of("k"), of("v"), graph.Attention{Heads: heads, KVHeads: heads, HeadDim: hidden / heads, Scale: 0.2})
	x = g.Add(x, g.Linear(a, matrix("o", hidden, hidden), nil))
	p, err := g.Compile(g.Linear(g.Take(x, g.Wanted()), matrix("out", vocab, hidden), nil))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// testDo: f has the processor's workers, unless its caller has gone.
func testDo(t *testing.T, b graph.Backend) {
	var ran atomic.Int32
	if err := b.Do(t.Context(), func(pool *threads.Pool, yield func()) {
		pool.Run(5, &threads.Region{F: func(int, int) { ran.Add(1) }})
		yield()
	}); err != nil || ran.Load() != 5 {
		t.Errorf("Do ran %d chunks of 5: %v", ran.Load(), err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Do(gone, func(*threads.Pool, func()) { t.Error("Do after its context ended") }); !errors.Is(err, context.Canceled) {
		t.Errorf("Do after its context ended: %v, want %v", err, context.Canceled)
	}
	waiting, leave := asks(t.Context())
	defer leave()
	late := make(chan error, 1)
	if err := b.Do(t.Context(), func(*threads.Pool, func()) {
		go func() {
			late <- b.Do(waiting, func(*threads.Pool, func()) { t.Error("Do for who left while others worked") })
		}()
		<-waiting.asked
		leave()
	}); err != nil {
		t.Error(err)
	}
	if err := <-late; !errors.Is(err, context.Canceled) {
		t.Errorf("Do for who left while others worked: %v, want %v", err, context.Canceled)
	}
}

// An asked is a context that closes a channel when it is first looked at.
type asked struct {
	context.Context
	once  sync.Once
	asked chan struct{}
}

func asks(parent context.Context) (*asked, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	return &asked{Context: ctx, asked: make(chan struct{})}, cancel
}

func (a *asked) Err() error {
	err := a.Context.Err() // before the channel is closed
	a.once.Do(func() { close(a.asked) })
	return err
}

func (a *asked) Done() <-chan struct{} {
	a.once.Do(func() { close(a.asked) })
	return a.Context.Done()
}

// testCompile: weights are placed part by part, all of them, and none after ctx has ended.
func testCompile(t *testing.T, b graph.Backend, p *graph.Program) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if x, err := b.Compile(gone, p, graph.Watch{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Compile after its context ended: %v, %v, want %v", x, err, context.Canceled)
	}
	last, of := int64(0), int64(0)
	x, err := b.Compile(t.Context(), p, graph.Watch{Placed: func(done, total int64) {
		if done <= last || of != 0 && total != of {
			t.Errorf("placed %d of %d bytes after %d of %d", done, total, last, of)
		}
		last, of = done, total
	}})
	if err != nil {
		t.Fatal(err)
	}
	if last != of {
		t.Errorf("placed %d bytes of %d in the end", last, of)
	}
	if err := x.Close(); err != nil {
		t.Errorf("Exec.Close: %v", err)
	}
}

// batch is the start of two sequences of these tokens, with a wanted row at the end of
// each.
func batch(a, b []int32) *graph.Batch {
	in := &graph.Batch{Tables: [][]int32{{5, 2}, {0, 7}}}
	for s, tokens := range [][]int32{a, b} {
		for i, id := range tokens {
			in.Tokens, in.Positions, in.Seq = append(in.Tokens, id), append(in.Positions, int32(i)), append(in.Seq, int32(s))
		}
		in.Want = append(in.Want, int32(len(in.Tokens)-1))
	}
	return in
}

// Exec tests how x, whose result is the logits of so many tokens, gives them away. kv
// has at least 8 blocks of 4 tokens and holds nothing.
func Exec(t *testing.T, x graph.Exec, kv graph.Cache, vocab int) {
	// Steps of one shape may be recorded when it comes again.
	for turn := range 3 {
		in := batch([]int32{3, 1, 4}, []int32{1, 5})
		out := run(t, x, in, kv)
		if len(out) != len(in.Want)*vocab {
			t.Fatalf("%d logits of %d rows, want %d a row", len(out), len(in.Want), vocab)
		}
		if turn == 0 && slices.Equal(out[:vocab], out[vocab:]) {
			t.Error("different texts have the same logits")
		}
		for _, top := range [][]int{nil, {0, 0}, {1, 1}, {3, 0}, {vocab, vocab - 1}, {vocab + 1, 1}} {
			taken := take(t, x, in, kv, top)
			for i, row := range taken {
				n := 0
				if top != nil {
					n = top[i]
				}
				if err := checkRow(row, out[i*vocab:(i+1)*vocab], n); err != nil {
					t.Errorf("run %d: row %d of %v: %v", turn, i, top, err)
				}
			}
		}
		if again := run(t, x, in, kv); !slices.Equal(again, out) {
			t.Error("a run without Take gives other logits than before")
		}
	}
	in := batch([]int32{3, 1, 4}, []int32{1, 5})
	in.Want = nil
	if taken := take(t, x, in, kv, nil); len(taken) != 0 {
		t.Errorf("%d rows were taken and none wanted", len(taken))
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	in = batch([]int32{3, 1, 4}, []int32{1, 5})
	in.Take = func(int, graph.Row) { t.Error("a row after the context ended") }
	if _, err := x.Run(gone, in, kv); !errors.Is(err, context.Canceled) {
		t.Errorf("a run after its context ended: %v, want %v", err, context.Canceled)
	}
}

// run returns result 0.
func run(t *testing.T, x graph.Exec, in *graph.Batch, kv graph.Cache) []float32 {
	t.Helper()
	in.Take, in.Top = nil, nil
	out, err := x.Run(t.Context(), in, kv)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(out[0])
}

// take returns the rows that Take was called with.
func take(t *testing.T, x graph.Exec, in *graph.Batch, kv graph.Cache, top []int) []graph.Row {
	t.Helper()
	var mu sync.Mutex
	taken, calls := make([]graph.Row, len(in.Want)), make([]int, len(in.Want))
	in.Top, in.Take = top, func(i int, r graph.Row) {
		mu.Lock()
		defer mu.Unlock()
		calls[i]++
		taken[i] = graph.Row{IDs: slices.Clone(r.IDs), Logits: slices.Clone(r.Logits)}
		for k := range r.Logits { // which Take may change
			r.Logits[k] = float32(math.NaN())
		}
	}
	out, err := x.Run(t.Context(), in, kv)
	if err != nil {
		t.Fatal(err)
	}
	if len(out) > 0 && out[0] != nil {
		t.Error("result 0 was taken and is returned")
	}
	for i, n := range calls {
		if n != 1 {
			t.Errorf("row %d was taken %d times", i, n)
		}
	}
	return taken
}

// checkRow returns an error if a row of which n logits were needed is wrong.
func checkRow(r graph.Row, logits []float32, n int) error {
	if r.IDs == nil {
		if !slices.Equal(r.Logits, logits) {
			return errors.New("its logits are not those of a run without Take")
		}
		return nil
	}
	if n == 0 || len(r.IDs) < n || len(r.IDs) > len(logits) || len(r.Logits) != len(r.IDs) {
		return fmt.Errorf("%d tokens and %d logits, want %d at least, 0 for all", len(r.IDs), len(r.Logits), n)
	}
	order := make([]int32, len(logits))
	for id := range order {
		order[id] = int32(id)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Or(cmp.Compare(logits[b], logits[a]), cmp.Compare(a, b)) })
	for i, id := range r.IDs {
		if id != order[i] || r.Logits[i] != logits[id] {
			return fmt.Errorf("place %d is token %d with %g, want %d with %g", i, id, r.Logits[i], order[i], logits[order[i]])
		}
	}
	return nil
}

// testBatches: a wrong batch is an error, and the next one runs as ever.
func testBatches(t *testing.T, x graph.Exec, kv graph.Cache) {
	good := func() *graph.Batch { return batch([]int32{3, 1, 4}, []int32{1, 5}) }
	before := run(t, x, good(), kv)
	for name, spoil := range map[string]func(in *graph.Batch){
		"no rows":                func(in *graph.Batch) { *in = graph.Batch{} },
		"no tokens":              func(in *graph.Batch) { in.Tokens = nil },
		"fewer sequences":        func(in *graph.Batch) { in.Seq = in.Seq[1:] },
		"a token too large":      func(in *graph.Batch) { in.Tokens[1] = vocab },
		"a negative token":       func(in *graph.Batch) { in.Tokens[1] = -1 },
		"a negative position":    func(in *graph.Batch) { in.Positions[0] = -1 },
		"a position past blocks": func(in *graph.Batch) { in.Positions[2] = 2 * size },
		"no such sequence":       func(in *graph.Batch) { in.Seq[4] = 2 },
		"no such block":          func(in *graph.Batch) { in.Tables[1][0] = blocks },
		"a negative block":       func(in *graph.Batch) { in.Tables[1][1] = -1 },
		"no such row wanted":     func(in *graph.Batch) { in.Want[1] = 5 },
		"a negative row wanted":  func(in *graph.Batch) { in.Want[0] = -1 },
		"rows in disorder":       func(in *graph.Batch) { in.Want[0], in.Want[1] = in.Want[1], in.Want[0] },
		"a row wanted twice":     func(in *graph.Batch) { in.Want[0] = in.Want[1] },
		"too many rows wanted":   func(in *graph.Batch) { in.Want = []int32{0, 1, 2, 3, 4} },
		"features":               func(in *graph.Batch) { in.Features = make([]float32, 5) },
		"largest of fewer rows":  func(in *graph.Batch) { in.Top, in.Take = []int{1}, func(int, graph.Row) {} },
	} {
		in := good()
		spoil(in)
		if _, err := x.Run(t.Context(), in, kv); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := x.Run(t.Context(), good(), nil); err == nil {
		t.Error("no cache: no error")
	}
	if _, err := x.Run(t.Context(), good(), foreign{kv}); err == nil {
		t.Error("a cache of another backend: no error")
	}
	if after := run(t, x, good(), kv); !slices.Equal(after, before) {
		t.Error("after wrong batches a right one gives other logits")
	}
}

// A foreign cache is none of the backend's.
type foreign struct{ graph.Cache }

// testCopy: a sequence that continues from copies of blocks has the results of the originals.
func testCopy(t *testing.T, x graph.Exec, kv graph.Cache) {
	run(t, x, batch([]int32{3, 1, 4}, []int32{1, 5}), kv)
	next := func(table ...int32) []float32 {
		return run(t, x, &graph.Batch{Tokens: []int32{9}, Positions: []int32{3}, Seq: []int32{0}, Tables: [][]int32{table}, Want: []int32{0}}, kv)
	}
	kv.Copy(0, 4, 5)
	original, copied := next(5, 2), next(4, 3)
	if !slices.Equal(original, copied) {
		t.Error("a copy of a block holds something else")
	}
	if slices.Equal(original, next(6, 1)) {
		t.Error("what a block holds does not matter")
	}
}

// testPortable: a sequence that continues from blocks that were read, and written to others, has
// the results of the originals.
func testPortable(t *testing.T, x graph.Exec, kv graph.Cache) {
	c, ok := kv.(graph.Portable)
	if !ok {
		t.Fatalf("%T is not portable", kv)
	}
	if c.Numerics() == "" {
		t.Error("it does not say what its bits depend on")
	}
	run(t, x, batch([]int32{2, 7, 1}, []int32{1, 5}), kv)
	next := func(table ...int32) []float32 {
		return run(t, x, &graph.Batch{Tokens: []int32{9}, Positions: []int32{3}, Seq: []int32{0}, Tables: [][]int32{table}, Want: []int32{0}}, kv)
	}
	const bytes = 2 * 2 * hidden * size
	data := make([]byte, bytes)
	if err := c.Read(data, 0, 5); err != nil {
		t.Fatal(err)
	}
	if err := c.Write(0, 3, data); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(next(5, 2), next(3, 4)) {
		t.Error("a block that was brought back holds something else")
	}
	if slices.Equal(next(5, 2), next(6, 1)) {
		t.Error("what a block holds does not matter")
	}
	for _, n := range []int{0, bytes - 1, bytes + 1} {
		if c.Read(make([]byte, n), 0, 5) == nil || c.Write(0, 3, make([]byte, n)) == nil {
			t.Errorf("%d bytes are taken for a block of %d", n, bytes)
		}
	}
}
