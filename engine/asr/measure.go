package asr

import (
	"context"
	"sync"
	"time"

	"quern/engine/asr/audio"
	"quern/engine/token"
)

// MeasureOptions are the parameters of Measure.
type MeasureOptions struct {
	Tokens  int // decoded after one another; at most the decoder's places less the prompt
	Windows int // decoded together; 0 means 1
}

// A Timing is the time of one window of audio.
type Timing struct {
	Seconds  float64       // of audio in a window
	Features time.Duration // its spectrogram
	Encode   time.Duration // the encoder, keys and values of cross-attention included
	Decode   time.Duration // all steps of decoding together
	Tokens   int           // in every window
	Windows  int
}

// PerToken is the time a window waits for its next token.
func (t *Timing) PerToken() time.Duration { return t.Decode / time.Duration(max(1, t.Tokens)) }

// RealTime is the time of a window as a share of the audio in it, were it
// alone in being encoded.
func (t *Timing) RealTime() float64 {
	return (t.Features + t.Encode + t.Decode/time.Duration(max(1, t.Windows))).Seconds() / t.Seconds
}

// Measure transcribes windows of noise and returns how long each part takes.
// Decoding is greedy, with cross-attention and the rules of transcripts, and goes
// on to the last of the tokens whatever the model says.
func (m *Model) Measure(ctx context.Context, o MeasureOptions) (Timing, error) {
	o.Windows = max(1, o.Windows)
	frames := framesPerPlace * m.config.encoder.places
	t := Timing{Seconds: float64(frames) / audio.FrameRate, Windows: o.Windows}
	noise := make(audio.Samples, frames*audio.FrameStep)
	seed := uint64(1)
	for i := range noise {
		seed = mix(seed, uint64(i))
		noise[i] = float32(int64(seed)>>40) / (1 << 24)
	}
	start := time.Now()
	f := audio.NewSpectrogram(m.bank, audio.NewReader(&noise))
	if _, err := f.Need(ctx, frames); err != nil {
		return t, err
	}
	features := make([]float32, frames*m.config.mels)
	f.Window(features, 0, frames)
	t.Features = time.Since(start)

	start = time.Now()
	var windows []*window
	defer func() {
		for _, w := range windows {
			w.close()
		}
	}()
	for range o.Windows {
		w, err := m.encode(ctx, features, 1)
		if err != nil {
			return t, err
		}
		windows = append(windows, w)
	}
	t.Encode = time.Since(start) / time.Duration(o.Windows)

	language := ""
	for _, code := range languages {
		if _, ok := m.special.languages[code]; ok {
			language = code
			break
		}
	}
	prompt := m.start(language, false, true)
	t.Tokens = max(1, min(o.Tokens, m.config.decoder.places-len(prompt)))
	errs := make([]error, len(windows))
	var wg sync.WaitGroup
	start = time.Now()
	for i, w := range windows {
		wg.Go(func() {
			a := w.attempt(&decodeOptions{language: language, stamps: true}, 0)
			a.limit = t.Tokens
			a.rules.more = []token.ID{m.special.eot}
			errs[i] = m.decode.do(ctx, a)
			a.close()
		})
	}
	wg.Wait()
	t.Decode = time.Since(start)
	for _, err := range errs {
		if err != nil {
			return t, err
		}
	}
	return t, nil
}
