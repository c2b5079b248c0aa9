package local

import (
	"context"
	"errors"

	"quern/engine/catalog"
	"quern/engine/cpu"
	"quern/engine/graph"
)

// host returns the backend of the processor, which every device has beside it.
func (e *Engine) host() *cpu.Backend {
	b := e.backend
	if h, ok := b.(interface{ Host() graph.Backend }); ok {
		b = h.Host()
	}
	c, _ := b.(*cpu.Backend)
	return c
}

// A tracked backend compiles for one entry: it shows how far an upload to the device
// is, and has the model unloaded when the device loses it.
type tracked struct {
	graph.Backend
	e *Engine
	n *catalog.Entry
}

func (w tracked) Compile(p *graph.Program) (x graph.Exec, err error) {
	// A device with a memory of its own takes its time.
	if d, ok := w.Backend.(interface {
		CompileContext(context.Context, *graph.Program, func(done, total int64)) (graph.Exec, error)
	}); ok {
		x, err = d.CompileContext(w.e.ctx, p, func(done, total int64) {
			w.e.progress(w.n, loadFilled+(loadCompiled-loadFilled)*float64(done)/float64(max(1, total)))
		})
	} else {
		x, err = w.Backend.Compile(p)
	}
	if err != nil {
		return nil, err
	}
	if r, ok := x.(graph.Ranker); ok {
		return trackedRanker{trackedExec{x, w}, r}, nil
	}
	return trackedExec{x, w}, nil
}

type trackedExec struct {
	graph.Exec
	w tracked
}

func (x trackedExec) Run(ctx context.Context, in *graph.Batch, kv graph.Cache) ([][]float32, error) {
	out, err := x.Exec.Run(ctx, in, kv)
	x.look(err)
	return out, err
}

func (x trackedExec) look(err error) {
	if errors.Is(err, graph.ErrLost) {
		x.w.e.models.Lose(x.w.n)
	}
}

type trackedRanker struct {
	trackedExec
	r graph.Ranker
}

func (x trackedRanker) RunRanked(ctx context.Context, in *graph.Batch, kv graph.Cache, top []int) ([][]float32, []graph.Ranking, error) {
	out, rankings, err := x.r.RunRanked(ctx, in, kv, top)
	x.look(err)
	return out, rankings, err
}
