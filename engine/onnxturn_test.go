package engine

import (
	"math"
	"sync"
	"testing"
	"time"

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
	e := open(t, Options{Threads: 2})
	backend, ok := e.backend.(*cpu.Backend)
	if !ok {
		t.Skip("no processor of its own")
	}
	g, err := e.newONNXGraph(m, backend)
	if err != nil {
		t.Fatal(err)
	}
	const trips = 8000
	x := make([]float32, 4096)
	x[0] = 1
	var callers sync.WaitGroup
	var longest time.Duration
	start, done := time.Now(), make(chan bool)
	for range 3 {
		callers.Go(func() {
			in := map[string]*onnx.Tensor{"trips": onnx.NewInts([]int{}, []int64{trips}), "x": onnx.NewFloats([]int{4096}, x)}
			out, err := g.run(t.Context(), in)
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
	var turns int
	var other sync.WaitGroup
	other.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
			}
			asked := time.Now()
			if err := backend.Do(t.Context(), func(pool *threads.Pool, _ func()) {
				pool.Run(2, &threads.Region{F: func(int, int) {}})
			}); err != nil {
				t.Error(err)
			}
			longest, turns = max(longest, time.Since(asked)), turns+1
		}
	})
	callers.Wait()
	took := time.Since(start)
	close(done)
	other.Wait()
	t.Logf("3 runs took %v; %d turns beside them, the longest wait %v", took, turns, longest)
	// Were runs not to give way, there would be a turn before, between and after them.
	if turns < 8 {
		t.Errorf("%d turns in %v, the longest wait was %v", turns, took, longest)
	}
}
