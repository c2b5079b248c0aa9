package conformer

import (
	"context"
	"time"

	"quern/engine/asr"
	"quern/engine/asr/audio"
)

// MeasureSeconds is the sound of a window that Measure encodes: enough to measure how fast a
// model is, and about what lies between two silences.
const MeasureSeconds = 20

// Measure encodes windows of noise and returns how long each part takes. A token is a step of
// the decoder: of a transducer, predictor and joint; of CTC, nothing is left to do.
func (m *Model) Measure(ctx context.Context, o asr.MeasureOptions) (asr.Timing, error) {
	o.Windows = max(1, o.Windows)
	seconds := min(MeasureSeconds, m.window())
	t := asr.Timing{Seconds: seconds, Windows: o.Windows}
	x := make([]float32, int(seconds*audio.Rate))
	seed := uint32(1)
	for i := range x {
		seed = seed*1664525 + 1013904223
		x[i] = float32(int32(seed)) / (1 << 34)
	}
	start := time.Now()
	features := m.features.Of(x)
	t.Features = time.Since(start)
	var windows []*window
	start = time.Now()
	for range o.Windows {
		w := &window{ctx: ctx, features: features, frames: m.features.Frames(len(x))}
		if m.Kind == AED {
			w.prompt, _ = m.prompt("", "", true) // compile has asked for it
		}
		if err := m.encoder.run(ctx, []*window{w}); err != nil {
			return t, err
		}
		windows = append(windows, w)
	}
	t.Encode = time.Since(start) / time.Duration(o.Windows)
	start = time.Now()
	var err error
	t.Tokens, err = m.decoder.measure(ctx, windows, max(1, o.Tokens))
	t.Decode = time.Since(start)
	return t, err
}

// measure takes windows through so many steps, of which each is a token.
func (t *transducer) measure(ctx context.Context, windows []*window, steps int) (int, error) {
	var list []*stream
	for _, w := range windows {
		s, err := t.start(ctx, w)
		if err != nil {
			return 0, err
		}
		list = append(list, s)
	}
	for i := range steps {
		for _, s := range list {
			s.t = i % s.frames.n
		}
		if _, err := t.logits(ctx, list, nil); err != nil {
			return 0, err
		}
		if err := t.advance(ctx, list); err != nil {
			return 0, err
		}
	}
	return steps, nil
}

func (c *ctc) measure(ctx context.Context, windows []*window, steps int) (int, error) {
	return steps, c.decode(ctx, windows)
}

// measure of an attender reads tokens of the prompt again and again, one window after the
// other.
func (a *attender) measure(ctx context.Context, windows []*window, steps int) (int, error) {
	for _, w := range windows {
		if err := a.force(ctx, w, steps); err != nil {
			return 0, err
		}
	}
	return steps, nil
}
