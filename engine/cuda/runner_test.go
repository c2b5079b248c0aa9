package cuda

import (
	"context"
	"math"
	"path/filepath"
	"sync"
	"testing"

	"quern/bench/fixtures"
	"quern/engine/cpu"
	"quern/engine/graph"
	"quern/engine/model"
	"quern/formats/gguf"
	"quern/formats/weights"
	gpu "quern/kernels/cuda"
	"quern/kernels/cuda/driver"
	"quern/kernels/cuda/ptxvm"
	"quern/kernels/quant"
)

const gigabyte = 1 << 30

// parse reads each module once for all tests.
var parse = func() func(string) (*ptxvm.Module, error) {
	all := make(map[string]func() (*ptxvm.Module, error))
	for _, m := range gpu.Modules {
		text := gpu.PTX(m.Name)
		all[text] = sync.OnceValues(func() (*ptxvm.Module, error) { return ptxvm.Parse(text) })
	}
	return func(text string) (*ptxvm.Module, error) {
		if f := all[text]; f != nil {
			return f()
		}
		return ptxvm.Parse(text)
	}
}()

// open makes a Backend on a Fake with a processor beside it.
func open(t testing.TB, f *driver.Fake, layers int, devices ...int) *Backend {
	t.Helper()
	fixtures.Interpreter(t)
	f.Parse = parse
	b, err := Open(Options{Driver: f, Devices: devices, Layers: layers, Host: cpu.Open(1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if live := f.Live(); len(live) > 0 {
			t.Errorf("not released: %v", live)
		}
	})
	return b
}

// A runner feeds a Program on some backend.
type runner struct {
	t     testing.TB
	exec  graph.Exec
	cache graph.Cache
	spec  graph.CacheSpec
	width int
}

func newRunner(t testing.TB, b graph.Backend, p *graph.Program, spec graph.CacheSpec) *runner {
	t.Helper()
	return newWatched(t, b, p, spec, graph.Watch{})
}

func newWatched(t testing.TB, b graph.Backend, p *graph.Program, spec graph.CacheSpec, w graph.Watch) *runner {
	t.Helper()
	cache, err := b.NewCache(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cache.Close() })
	exec, err := b.Compile(t.Context(), p, w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { exec.Close() })
	return &runner{t: t, exec: exec, cache: cache, spec: spec, width: p.Values[p.Results[0]].Width()}
}

func (r *runner) run(in *graph.Batch) []float32 {
	r.t.Helper()
	out, err := r.exec.Run(context.Background(), in, r.cache)
	if err != nil {
		r.t.Fatal(err)
	}
	return append([]float32(nil), out[0]...)
}

// prompts are batches as a server makes them: two sequences, whose blocks lie out
// of order, begin; then both go on, token by token.
func prompts(a, b []int32, more int) []*graph.Batch {
	tables := [][]int32{{7, 1, 4, 2}, {5, 3, 0, 6}}
	states := []int32{1, 0}
	first := &graph.Batch{Tables: tables, States: states}
	for s, tokens := range [][]int32{a, b} {
		for i, id := range tokens {
			first.Tokens, first.Positions, first.Seq = append(first.Tokens, id), append(first.Positions, int32(i)), append(first.Seq, int32(s))
		}
		first.Want = append(first.Want, int32(len(first.Tokens)-1))
	}
	all := []*graph.Batch{first}
	for i := range more {
		all = append(all, &graph.Batch{
			Tokens:    []int32{a[i%len(a)], b[(i+1)%len(b)]},
			Positions: []int32{int32(len(a) + i), int32(len(b) + i)},
			Seq:       []int32{0, 1}, Tables: tables, States: states, Want: []int32{0, 1},
		})
	}
	return all
}

// distance is max|a-b| / rms(b).
func distance(a, b []float32) float64 {
	var worst, ss float64
	for i := range b {
		d := math.Abs(float64(a[i]) - float64(b[i]))
		if math.IsNaN(d) {
			return math.Inf(1)
		}
		worst = max(worst, d)
		ss += float64(b[i]) * float64(b[i])
	}
	return worst / math.Sqrt(ss/float64(len(b)))
}

// compare holds what b gives against the processor.
func compare(t *testing.T, b graph.Backend, p *graph.Program, spec graph.CacheSpec, batches []*graph.Batch, limit float64) {
	t.Helper()
	host := cpu.Open(1)
	defer host.Close()
	want, got := newRunner(t, host, p, spec), newRunner(t, b, p, spec)
	for i, in := range batches {
		w, g := want.run(in), got.run(in)
		if len(g) != len(w) {
			t.Fatalf("step %d: %d numbers, want %d", i, len(g), len(w))
		}
		if d := distance(g, w); d > limit {
			t.Errorf("step %d: logits are %.2g of their size from the CPU's, want %g at most", i, d, limit)
		}
	}
}

func load(t testing.TB, file string) (*weights.Set, model.LM) {
	t.Helper()
	return loadFile(t, filepath.Join("..", "model", "testdata", file))
}

func loadFile(t testing.TB, path string) (*weights.Set, model.LM) {
	t.Helper()
	set, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	m, err := model.Open(set)
	if err == nil {
		err = set.Fill()
	}
	if err != nil {
		t.Fatal(err)
	}
	return set, m
}

func program(t testing.TB, m model.LM, rows, want int) (*graph.Program, graph.CacheSpec) {
	t.Helper()
	b := graph.NewBuilder(rows, want)
	p, err := b.Compile(m.Logits(b, m.Hidden(b)))
	if err != nil {
		t.Fatal(err)
	}
	return p, p.CacheSpec(8, 4, 2, quant.F16)
}
