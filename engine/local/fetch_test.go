package local

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quern/engine"
)

// A model that is not here is fetched once, when it is first asked for, however
// many ask.
func TestFetchOnFirstUse(t *testing.T) {
	var calls atomic.Int32
	e := open(t, engine.Options{Models: []engine.ModelOptions{{Name: "far", Fetch: func(_ context.Context, progress func(done, total int64)) (string, error) {
		calls.Add(1)
		progress(1, 2)
		return small, nil
	}}}})
	if m := texts(e); len(m) != 1 || m[0].ID != "far" || m[0].Status != "unloaded" || calls.Load() != 0 {
		t.Fatalf("%+v after %d fetches, want one model and none", m, calls.Load())
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, err := gather(t.Context(), e, "far", engine.GenerateRequest{Prompt: engine.Prompt{Text: "x"}, MaxTokens: 1}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if calls.Load() != 1 {
		t.Errorf("%d fetches, want 1", calls.Load())
	}
	if m := e.Models()[0]; m.Kind != engine.KindCompletion || m.Architecture != "llama" || m.SizeBytes == 0 {
		t.Errorf("%+v, want what the file says", m)
	}
	if err := e.Unload("far"); err != nil {
		t.Fatal(err)
	}
	if err := e.Load(t.Context(), "far"); err != nil || calls.Load() != 1 {
		t.Errorf("loading again: %v after %d fetches", err, calls.Load())
	}
}

// What the file turns out to be decides what it can be asked for.
func TestFetchedKind(t *testing.T) {
	e := open(t, engine.Options{Models: []engine.ModelOptions{{Name: "far", Fetch: func(context.Context, func(int64, int64)) (string, error) {
		return "../model/testdata/bert-mean-Q8_0.gguf", nil
	}}}})
	var known *engine.Error
	if _, err := gather(t.Context(), e, "far", engine.GenerateRequest{Prompt: engine.Prompt{Text: "x"}}); !errors.As(err, &known) || known.Code != engine.CodeModelNotSupported {
		t.Errorf("generation by an encoder: %v", err)
	}
	if _, err := e.Embed(t.Context(), "far", engine.EmbedRequest{Inputs: []engine.EmbedInput{{Text: "x"}}}); err != nil {
		t.Error(err)
	}
}

// A request waits for a fetch no longer than for a load, and its error says how far it
// is; the fetch goes on. One that failed is tried again.
func TestFetchTakesLong(t *testing.T) {
	started, end := make(chan struct{}, 9), make(chan error)
	e := open(t, engine.Options{LoadTimeout: 100 * time.Millisecond, Models: []engine.ModelOptions{{Name: "far", Fetch: func(ctx context.Context, progress func(done, total int64)) (string, error) {
		progress(30<<20, 100<<20)
		started <- struct{}{}
		select {
		case err := <-end:
			return small, err
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}}}})
	var known *engine.Error
	for range 2 {
		if err := e.Load(t.Context(), "far"); !errors.As(err, &known) || known.Code != engine.CodeModelLoading || known.RetryAfter < 5*time.Second ||
			!strings.Contains(known.Message, "30 % of 100 MiB") {
			t.Errorf("Load: %+v; want %s", err, engine.CodeModelLoading)
		}
	}
	if len(started) != 1 {
		t.Errorf("%d fetches, want 1", len(started))
	}
	if s := e.Models()[0].Status; s != "loading" {
		t.Errorf("status %s", s)
	}
	denied := &engine.Error{Code: engine.CodeEngineFailure, Message: "the repository is gated"}
	go func() { end <- denied; end <- nil }()
	for {
		err := e.Load(t.Context(), "far")
		if err == nil {
			break
		}
		if errors.As(err, &known) && known.Code != engine.CodeModelLoading && known.Code != engine.CodeLoadTimeout && known.Message != denied.Message {
			t.Fatalf("Load: %v", err)
		}
	}
	if len(started) != 2 {
		t.Errorf("%d fetches, want 2", len(started))
	}
	// Closing ends a fetch.
	e2 := open(t, engine.Options{LoadTimeout: 50 * time.Millisecond, Models: []engine.ModelOptions{{Name: "far", Fetch: func(ctx context.Context, _ func(int64, int64)) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}}}})
	if err := e2.Load(t.Context(), "far"); !errors.As(err, &known) || known.Code != engine.CodeModelLoading {
		t.Errorf("Load: %v", err)
	}
}
