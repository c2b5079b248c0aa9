package asr

import (
	"context"
	"strings"
	"testing"

	"quern/engine/asr/audio"
	"quern/engine/graph"
	"quern/engine/token"
)

// A breaking Exec panics as often as it says.
type breaking struct {
	graph.Exec
	times int
}

func (f *breaking) Run(ctx context.Context, in *graph.Batch, kv graph.Cache) ([][]float32, error) {
	if f.times > 0 {
		f.times--
		panic("of the network")
	}
	return f.Exec.Run(ctx, in, kv)
}

// A wrong task panics when it is asked for rows, or given their logits.
type wrong struct {
	at  string
	seq sequence
}

func (w *wrong) rows() []row {
	if w.at == "rows" {
		panic("of rows")
	}
	return []row{{id: token.ID(0), seq: &w.seq, want: true}}
}

func (w *wrong) take([][]float32) { panic("of take") }

// TestPanic: what panics in the decoder ends the request it is of, and no other.
func TestPanic(t *testing.T) {
	m := small(t)
	transcribe := func(chunked bool) (err error) {
		src := audio.Samples(hiss(5, 0.1))
		for _, e := range m.Transcribe(t.Context(), &src, Options{Language: "en", MaxTokens: 8, Temperatures: []float64{0}, Chunked: chunked, Without: NoGuards}) {
			err = e
		}
		return err
	}
	real := m.decode.exec
	for _, chunked := range []bool{false, true} {
		m.decode.exec = &breaking{real, 1}
		if err := transcribe(chunked); err == nil || !strings.Contains(err.Error(), "panic: of the network") {
			t.Errorf("chunked %v: %v", chunked, err)
		}
		if err := transcribe(chunked); err != nil {
			t.Errorf("chunked %v, the next: %v", chunked, err)
		}
	}
	m.decode.exec = &breaking{Exec: nothing{}}
	for _, at := range []string{"rows", "take"} {
		if err := m.decode.do(t.Context(), &wrong{at: at}); err == nil || !strings.Contains(err.Error(), "panic: of "+at) {
			t.Errorf("%s: %v", at, err)
		}
	}
	m.decode.exec = real
	if err := transcribe(false); err != nil {
		t.Error(err)
	}
	drained(t, m)
}

// nothing is an Exec that gives no logits.
type nothing struct{ graph.Exec }

func (nothing) Run(context.Context, *graph.Batch, graph.Cache) ([][]float32, error) { return nil, nil }
