package asr

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"quern/engine/asr/audio"
	"quern/kernels/quant"
)

// Two uploads of the same length advance side by side: when one is done the
// other nearly is. A busy machine may let one run ahead once, but not every time.
func TestUploadsShareTheMachine(t *testing.T) {
	m := small(t)
	for _, chunked := range []bool{false, true} {
		const seconds, tries = 120, 5
		// One after the other it would be all. Windows that are decoded side by
		// side let one be ahead.
		most := int64(seconds / 2)
		if chunked {
			most += seconds / 4
		}
		var left int64
		for range tries {
			if left = leftOfTheOther(t, m, seconds, chunked); left <= most {
				break
			}
		}
		if left > most {
			t.Errorf("chunked %v: %d seconds were left of one upload when the other was done, %d times", chunked, left, tries)
		}
	}
	drained(t, m)
}

// leftOfTheOther transcribes two uploads and returns how much of one is left when
// the other is done.
func leftOfTheOther(t *testing.T, m *Model, seconds int64, chunked bool) int64 {
	var at [2]atomic.Int64 // seconds transcribed
	var left atomic.Int64
	var first sync.Once
	var wg sync.WaitGroup
	for i := range at {
		wg.Go(func() {
			for s, err := range m.Transcribe(t.Context(), &ticking{end: int(seconds) * audio.Rate}, Options{
				Language: "en", NoTimestamps: true, Temperatures: []float64{0}, MaxTokens: 8, NoContext: true, Chunked: chunked, Without: NoGuards,
			}) {
				if err != nil {
					t.Error(err)
				}
				at[i].Store(int64(s.End))
			}
			first.Do(func() { left.Store(seconds - at[1-i].Load()) })
		})
	}
	wg.Wait()
	return left.Load()
}

// A countdown is a context that ends when it has been asked a number of times.
type countdown struct {
	context.Context
	asked, end atomic.Int64
}

func (c *countdown) Err() error {
	if c.asked.Add(1) > c.end.Load() {
		return context.Canceled
	}
	return nil
}

func (c *countdown) Done() <-chan struct{} { return nil }

// A runner asks its context several times a layer and stops at once when it has
// ended.
func TestFreeWithinALayer(t *testing.T) {
	const layers = 6
	m := randomModel(t, layers, 32, 2, quant.F16, 1)
	features := make([]float32, 3000*80)
	all := &countdown{Context: context.Background()}
	all.end.Store(1 << 40)
	w, err := m.encode(all, features, 1)
	if err != nil {
		t.Fatal(err)
	}
	encoding := all.asked.Load()
	if encoding < 2*layers {
		t.Errorf("encoding %d layers asks %d times", layers, encoding)
	}
	for _, n := range []int64{0, 1, encoding / 2, encoding - 1} {
		early := &countdown{Context: context.Background()}
		early.end.Store(n)
		if _, err := m.encode(early, features, 1); !errors.Is(err, context.Canceled) || early.asked.Load() > n+2 {
			t.Errorf("a context that ends after %d questions: error %v, asked %d times", n, err, early.asked.Load())
		}
	}
	decoding := &countdown{Context: context.Background()}
	decoding.end.Store(1 << 40)
	o := &decodeOptions{language: "en", stamps: true, limit: 1}
	if _, err := w.decode(decoding, o, 0); err != nil {
		t.Fatal(err)
	}
	if n := decoding.asked.Load(); n < 2*layers {
		t.Errorf("a step of %d layers asks %d times", layers, n)
	}
	early := &countdown{Context: context.Background()}
	early.end.Store(decoding.asked.Load() / 2)
	if _, err := w.decode(early, o, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("half a step: %v", err)
	}
	w.close()
	drained(t, m)
}
