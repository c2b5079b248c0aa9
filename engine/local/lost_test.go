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

// flaky is a backend whose Execs lose their device when broken says so.
type flaky struct {
	graph.Backend
	ranks    bool // its Execs are Rankers
	broken   atomic.Bool
	compiled atomic.Int32
	ranked   atomic.Int32 // runs
}

func (f *flaky) Compile(p *graph.Program) (graph.Exec, error) {
	f.compiled.Add(1)
	x, err := f.Backend.Compile(p)
	if f.ranks {
		return flakyRanker{flakyExec{x, f}}, err
	}
	return flakyExec{x, f}, err
}

type flakyExec struct {
	graph.Exec
	f *flaky
}

func (x flakyExec) Run(ctx context.Context, in *graph.Batch, kv graph.Cache) ([][]float32, error) {
	if x.f.broken.Load() {
		return nil, fmt.Errorf("%w: the fan has stopped", graph.ErrLost)
	}
	return x.Exec.Run(ctx, in, kv)
}

type flakyRanker struct{ flakyExec }

// RunRanked leaves every row whole, as it may.
func (x flakyRanker) RunRanked(ctx context.Context, in *graph.Batch, kv graph.Cache, top []int) ([][]float32, []graph.Ranking, error) {
	x.f.ranked.Add(1)
	out, err := x.Run(ctx, in, kv)
	return out, make([]graph.Ranking, len(top)), err
}

// TestLostDevice: requests fail that used a model when its device was lost, and the
// next one loads it again.
func TestLostDevice(t *testing.T) {
	for _, ranks := range []bool{false, true} {
		t.Run(fmt.Sprintf("ranks %v", ranks), func(t *testing.T) { testLostDevice(t, ranks) })
	}
}

func testLostDevice(t *testing.T, ranks bool) {
	e := open(t, engine.Options{})
	f := &flaky{Backend: e.backend, ranks: ranks}
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
	if ranked := f.ranked.Load() > 0; ranked != ranks {
		t.Errorf("rankings were asked for: %v", ranked)
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
