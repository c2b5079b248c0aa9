package serve

import (
	"context"
	"fmt"
	"sync"

	"quern/engine/model"
	"quern/engine/onnx"
	fonnx "quern/formats/onnx"
	"quern/kernels/threads"
)

// A Host is where graphs run.
type Host struct {
	// Processor calls f when no other caller uses the processor's workers, unless ctx has
	// ended. f calls yield between its steps, which lets others in.
	Processor interface {
		Do(ctx context.Context, f func(pool *threads.Pool, yield func())) error
	}
	Limit int64 // bytes a graph may take
}

// A Graph is a graph that is ready to run, on the turn of the processor that it shares with other models.
type Graph struct {
	mu      sync.Mutex // of a run, locked before the turn is acquired: else a run that yields the turn would deadlock with one that holds it
	of      *onnx.Session
	host    Host
	yield   func()        // of the turn in force
	inputs  []fonnx.Value // those without a value of their own
	outputs []fonnx.Value
}

// Graph prepares a graph, which must stay open while it is used.
func (h Host) Graph(ctx context.Context, m *fonnx.Model) (*Graph, error) {
	g := &Graph{host: h, inputs: m.Graph.Asked(), outputs: m.Graph.Outputs}
	// Exporters give one name to sizes that differ at the start of a text, where
	// the past is empty, so names bind nothing here.
	for _, in := range m.Graph.Inputs {
		for i := range in.Type.Dims {
			in.Type.Dims[i].Param = ""
		}
	}
	var err error
	if turn := h.Processor.Do(ctx, func(pool *threads.Pool, yield func()) {
		g.yield = yield
		g.of, err = onnx.New(m, onnx.Options{Pool: pool, Limit: h.Limit, Yield: func() { g.yield() }, Wide: true})
	}); turn != nil {
		return nil, turn
	}
	return g, err
}

// Run computes the outputs of g, as onnx.Session does, when it is g's turn.
func (g *Graph) Run(ctx context.Context, in map[string]*onnx.Tensor) (out map[string]*onnx.Tensor, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if turn := g.host.Processor.Do(ctx, func(_ *threads.Pool, yield func()) {
		g.yield = yield
		out, err = g.of.Run(ctx, in)
	}); turn != nil {
		return nil, turn
	}
	return out, err
}

// tensorOf makes an input of the declared type from whole numbers.
func tensorOf(v *fonnx.Value, numbers []int64, shape ...int) *onnx.Tensor {
	t := &onnx.Tensor{Type: v.Type.Elem, Shape: shape}
	switch t.Type {
	case fonnx.Float, fonnx.Float16, fonnx.BFloat16:
		t.F = make([]float32, len(numbers))
		for i, x := range numbers {
			t.F[i] = float32(x)
		}
	case fonnx.Double:
		t.D = make([]float64, len(numbers))
		for i, x := range numbers {
			t.D[i] = float64(x)
		}
	default:
		t.I = numbers
	}
	return t
}

// rows returns the numbers of an output of that shape; a size below zero may be
// any.
func rows(out map[string]*onnx.Tensor, name string, shape ...int) (*onnx.Tensor, error) {
	t := out[name]
	if t == nil || t.F == nil || len(t.Shape) != len(shape) {
		return nil, fmt.Errorf("%w: the graph's output %q is not what it declares", model.ErrFormat, name)
	}
	for i, d := range shape {
		if d >= 0 && d != t.Shape[i] {
			return nil, fmt.Errorf("%w: the graph's output %q has shape %d, want %d", model.ErrFormat, name, t.Shape, shape)
		}
	}
	return t, nil
}
