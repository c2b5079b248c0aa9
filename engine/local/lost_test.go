package local

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"quern/bench/poll"
	"quern/engine"
	"quern/engine/graph"
)

// flaky is a backend whose Execs return graph.ErrLost while broken is true.
type flaky struct {
	graph.Backend
	broken   atomic.Bool
	compiled atomic.Int32
}

func (f *flaky) Compile(ctx context.Context, p *graph.Program, w graph.Watch) (graph.Exec, error) {
	f.compiled.Add(1)
	x, err := f.Backend.Compile(ctx, p, w)
	return flakyExec{x, f, w}, err
}

type flakyExec struct {
	graph.Exec
	f *flaky
	w graph.Watch
}

func (x flakyExec) Run(ctx context.Context, in *graph.Batch, kv graph.Cache) ([][]float32, error) {
	if x.f.broken.Load() {
		err := fmt.Errorf("%w: the fan has stopped", graph.ErrLost)
		x.w.Lost(err)
		return nil, err
	}
	return x.Exec.Run(ctx, in, kv)
}

// TestLostDevice: requests fail that used a model when its device was lost, and the
// next one loads it again.
func TestLostDevice(t *testing.T) {
	e := open(t, engine.Options{})
	f := &flaky{Backend: e.backend}
	e.backend = f
	ask := func() (text string, err error) {
		for ev, err := range e.Generate(t.Context(), "", engine.GenerateRequest{Prompt: engine.Prompt{Text: "Once"}, MaxTokens: 3}) {
			if err != nil {
				return "", err
			}
			text += ev.Text
		}
		return text, nil
	}
	want, err := ask()
	if err != nil || strings.TrimSpace(want) == "" {
		t.Fatalf("%q, %v", want, err)
	}
	f.broken.Store(true)
	if text, err := ask(); err == nil {
		t.Fatalf("a lost device says %q", text)
	}
	f.broken.Store(false)
	before := f.compiled.Load()
	poll.Until(t, "the last request has left", func() bool {
		var busy *engine.Error
		_, err = ask()
		return !errors.As(err, &busy) || busy.Code != engine.CodeModelLoading
	})
	if err != nil || f.compiled.Load() == before {
		t.Errorf("afterwards: %v, compiled %d times since", err, f.compiled.Load()-before)
	}
}
