package httpapi_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"math"
	"regexp"
	"strings"

	"quern/engine"
	"quern/engine/asr"
	"quern/engine/token"
	"quern/engine/tts"
)

// fakeRate is the sample rate of the fake's voices.
const fakeRate = 24000

// Speak makes 0.1 s of sound a word, a chunk for every sentence, or for what has come.
func (f *fake) Speak(ctx context.Context, r engine.SpeakRequest) iter.Seq2[engine.Speech, error] {
	f.spoken.Store(&r)
	return func(yield func(engine.Speech, error) bool) {
		f.running.Add(1)
		defer f.running.Add(-1)
		at, seconds := 0, 0.0
		for at < len(r.Text) || r.More != nil {
			if r.More != nil {
				m, err := r.More(ctx)
				if err == io.EOF {
					return
				}
				if err != nil {
					yield(engine.Speech{}, err)
					return
				}
				r.Text += m.Text
			}
			s := engine.Speech{Rate: fakeRate}
			s.Start, s.End = at, len(r.Text)
			if i := strings.IndexByte(r.Text[at:], '.'); i >= 0 {
				s.End = at + i + 1
			}
			for _, m := range regexp.MustCompile(`\w+`).FindAllStringIndex(r.Text[at:s.End], -1) {
				w := tts.Word{Start: at + m[0], End: at + m[1], Said: r.Text[at+m[0] : at+m[1]], From: seconds, To: seconds + 0.1}
				s.Words = append(s.Words, w)
				seconds += 0.1
			}
			s.Symbols = s.End - s.Start
			s.Samples = make([]float32, int(0.1*fakeRate/r.Speed)*len(s.Words))
			for i := range s.Samples {
				s.Samples[i] = float32(0.3 * math.Sin(float64(i)/10))
			}
			at = s.End
			if ctx.Err() != nil {
				yield(engine.Speech{}, ctx.Err())
				return
			}
			if !yield(s, nil) {
				return
			}
		}
	}
}

// Transcribe yields a word every half second.
func (f *fake) Transcribe(ctx context.Context, r engine.TranscribeRequest) iter.Seq2[engine.Segment, error] {
	f.heard.Store(&r)
	return func(yield func(engine.Segment, error) bool) {
		f.running.Add(1)
		defer f.running.Add(-1)
		buf := make([]float32, 8000)
		for i := 0; ; i++ {
			n, err := r.Source.Read(buf)
			if err == io.EOF || n == 0 && err == nil {
				return
			}
			if err != nil {
				yield(engine.Segment{}, err)
				return
			}
			start := r.Info.Duration
			r.Info.Duration += float64(n) / 16000
			r.Info.Language, r.Info.Probability = "en", 0.9
			s := engine.Segment{ID: i, Start: start, End: r.Info.Duration, Text: fmt.Sprintf(" word%d", i), Tokens: []token.ID{token.ID(i)}, AvgLogprob: -0.5}
			if r.Words {
				s.Words = []asr.Word{{Text: s.Text, Start: s.Start, End: s.End, Probability: 0.5}}
			}
			if r.Logprobs {
				s.Logprobs = []asr.TokenLogprob{{ID: token.ID(i), Bytes: []byte(s.Text), Logprob: -0.5}}
			}
			if !yield(s, nil) {
				return
			}
		}
	}
}
