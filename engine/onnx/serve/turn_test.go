package serve

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"testing"

	"quern/engine/cpu"
	"quern/engine/onnx"
	fonnx "quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
	"quern/kernels/threads"
)

// TestONNXTurns runs a long graph for several callers at once beside another user
// of the processor: all must end, and the other user gets its turn within a run.
func TestONNXTurns(t *testing.T) {
	body := onnxtest.New(17)
	for _, v := range []struct {
		name string
		typ  fonnx.DType
	}{{"i", fonnx.Int64}, {"go", fonnx.Bool}, {"v", fonnx.Float}} {
		body.Input(v.name, v.typ)
	}
	body.Output("on", "go", fonnx.Bool)
	body.Output("next", body.Node("Sin", []string{"v"}), fonnx.Float)
	b := onnxtest.New(17)
	b.Input("trips", fonnx.Int64)
	b.Input("x", fonnx.Float, 4096)
	b.Output("y", b.Node("Loop", []string{"trips", "", "x"}, onnxtest.Body("body", body.Model.Graph)), fonnx.Float, 4096)
	m, err := fonnx.Parse(b.Bytes(), nil)
	if err != nil {
		t.Fatal(err)
	}
	backend := cpu.Open(2)
	defer backend.Close()
	g, err := Host{Processor: backend, Limit: 1 << 30}.Graph(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	const trips = 8000
	x := make([]float32, 4096)
	x[0] = 1
	in := func(trips int64) map[string]*onnx.Tensor {
		return map[string]*onnx.Tensor{"trips": onnx.NewInts([]int{}, []int64{trips}), "x": onnx.NewFloats([]int{4096}, x)}
	}
	turn := func() {
		if err := backend.Do(t.Context(), func(pool *threads.Pool, _ func()) {
			pool.Run(2, &threads.Region{F: func(int, int) {}})
		}); err != nil {
			t.Error(err)
		}
	}
	var callers sync.WaitGroup
	for range 3 {
		callers.Go(func() {
			out, err := g.Run(t.Context(), in(trips))
			if err != nil {
				t.Error(err)
				return
			}
			// sin applied n times is about √(3/n).
			if got, want := out["y"].F[0], math.Sqrt(3./trips); math.Abs(float64(got)-want) > 0.01*want {
				t.Errorf("got %g, want about %g", got, want)
			}
		})
	}
	for range 8 {
		turn()
	}
	callers.Wait()

	// This one does not end by itself: were it not to give way, there would be no turn.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	run := &observed{Context: ctx, begun: make(chan bool)}
	callers.Go(func() {
		if _, err := g.Run(run, in(math.MaxInt64)); !errors.Is(err, context.Canceled) {
			t.Errorf("the run ended with %v", err)
		}
	})
	<-run.begun
	for range 8 {
		turn()
	}
	cancel()
	callers.Wait()
}

// observed tells when it has been looked at often enough for a run to be under way.
type observed struct {
	context.Context
	looks atomic.Int32
	begun chan bool
}

func (o *observed) Err() error {
	if o.looks.Add(1) == 100 {
		close(o.begun)
	}
	return o.Context.Err()
}
