package embed

import (
	"context"
	"testing"

	"quern/engine/lm"
	"quern/engine/token"
)

// seeing is an encoder that calls itself while a text is encoded.
type seeing func()

func (f seeing) Run(_ context.Context, texts [][]token.ID, _ [][]int64) ([][]float32, error) {
	f()
	return make([][]float32, len(texts)), nil
}

// Requests are counted while their texts are encoded.
func TestLoad(t *testing.T) {
	m := newModel(lm.Reader{}, nil, 0)
	seen := 0
	m.encoder = seeing(func() {
		if w, r := m.Load(); w != 0 || r != seen+1 {
			t.Errorf("%d wait, %d run; want 0 and %d", w, r, seen+1)
		}
		if seen++; seen < 3 {
			m.encode(t.Context(), nil, nil)
		}
	})
	m.encode(t.Context(), nil, nil)
	m.encoder = adapted{&Recorded{queue: queue{running: 2}}, 1}
	m.asked.Store(3)
	if w, r := m.Load(); w != 1 || r != 2 {
		t.Errorf("of three, two of whom share a step, %d wait, %d run; want 1 and 2", w, r)
	}
	m.asked.Store(0)
	if w, r := m.Load(); w != 0 || r != 0 || seen != 3 {
		t.Errorf("at rest %d wait, %d run, after %d", w, r, seen)
	}
}
