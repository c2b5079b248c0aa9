package embed

import (
	"context"
	"errors"
	"testing"

	"quern/engine"
	"quern/engine/cpu"
	"quern/engine/graph"
	"quern/engine/lm"
)

// recorded is the encoder of the built-in model on so many threads, whose steps have so many rows.
func recorded(t *testing.T, threads, batch int) *Recorded {
	t.Helper()
	backend := cpu.Open(threads)
	t.Cleanup(func() { backend.Close() })
	f := &lm.File{ID: "m", Raw: builtinSet(t)}
	if err := f.Open(t.Context(), engine.ModelOptions{}, 1); err != nil {
		t.Fatal(err)
	}
	p, err := f.Plan(engine.ModelOptions{Batch: batch}, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	x := NewRecorded(Device{func(p *graph.Program) (graph.Exec, error) { return backend.Compile(t.Context(), p, graph.Watch{}) }, backend.NewCache}, f.LM, p.Encode)
	t.Cleanup(x.Close)
	return x
}

// A caller that waits for a busy model returns when its request is cancelled.
func TestEmbeddingWaits(t *testing.T) {
	x := recorded(t, 1, 64)
	m, err := New(t.Context(), reader(t, 256), Training{}, x, x.width)
	if err != nil {
		t.Fatal(err)
	}
	r := engine.EmbedRequest{Inputs: []engine.EmbedInput{{Text: "a"}}}
	if _, err := m.Embed(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	x.turn <- struct{}{} // another request's texts run
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := m.Embed(ctx, r)
		failed <- err
	}()
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	<-x.turn
	if _, err := m.Embed(t.Context(), r); err != nil {
		t.Error(err)
	}
}
