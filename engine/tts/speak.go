package tts

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
)

// A Request is a text to be spoken.
type Request struct {
	Text     string
	Voice    string  // a voice, a mixture, or a name that stands for one
	Speed    float64 // 1 is the voice's own
	Seed     uint64
	Language string // "en-us" or "en-gb"; "" is the voice's own

	SSML     bool       // Text is SSML
	Lexicons []*Lexicon // the first that has a word decides
}

// A Chunk is a piece of the answer: one utterance with the silence behind it.
type Chunk struct {
	Samples    []float32 // mono, at the engine's rate
	Start, End int       // bytes of the text; chunks cover all of it without gaps
	Words      []Word
	Symbols    int // phonemes it was made of
}

// A Word tells when a piece of the text is heard.
type Word struct {
	Start, End int     // bytes of the text
	Said       string  // as it is read
	From, To   float64 // seconds from the beginning of the answer
}

// maxPause is the longest silence a text may ask for, in seconds.
const maxPause = 60.0

// Speak renders a text utterance by utterance: the first is short, so that
// something is heard soon. It stops when ctx ends or the loop is left.
//
// The error is a *VoiceError for an unknown voice, and wraps ErrLanguage for a
// language that cannot be pronounced.
func Speak(ctx context.Context, s Synth, p *Pronouncer, r Request) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		voice, err := First(s.Voices(), r.Voice)
		if err != nil {
			yield(Chunk{}, err)
			return
		}
		units, err := p.units(ctx, Text{Text: r.Text, SSML: r.SSML, Language: r.Language, Usual: voice.Language, Lexicons: r.Lexicons}, s.Limit())
		if err == nil {
			err = able(s, units)
		}
		if err != nil {
			yield(Chunk{}, err)
			return
		}
		at := 0 // samples so far
		said := 0
		for cutter := newSplitter(s); len(units) > 0; {
			var u utterance
			n, _ := cutter.next(units, true)
			u, units = cutter.cut(units, n)
			c, err := render(ctx, s, r, &u, at, len(units) == 0)
			if err != nil {
				yield(Chunk{}, err)
				return
			}
			c.Start, c.End = said, len(r.Text)
			if len(units) > 0 {
				c.End = max(said, units[0].start)
			}
			said = c.End
			s.Floor(c.Samples, at, r.Seed)
			at += len(c.Samples)
			if !yield(c, nil) {
				return
			}
		}
	}
}

// A Pitcher is a Synth that can speak higher and lower than its voices are.
type Pitcher interface {
	// Pitched returns the synthesiser, so many semitones higher.
	Pitched(semitones float64) Synth
}

// ErrUnable is wrapped where a text asks for what the synthesiser cannot do.
var ErrUnable = errors.New("the voice cannot do this")

// able reports whether s can speak units as they ask.
func able(s Synth, units []unit) error {
	if _, ok := s.(Pitcher); ok {
		return nil
	}
	for i := range units {
		if units[i].Pitch != 0 {
			return fmt.Errorf("%w: %s has no pitch of <prosody>; it takes rate and volume", ErrUnable, s.Name())
		}
	}
	return nil
}

// render makes one chunk, which begins after at samples.
func render(ctx context.Context, s Synth, r Request, u *utterance, at int, last bool) (Chunk, error) {
	rate := s.Rate()
	pause := int(min(u.pause, maxPause) * float64(rate))
	if len(u.symbols) == 0 {
		return Chunk{Samples: make([]float32, pause)}, nil
	}
	how := u.units[0].Delivery
	if how.Rate > 0 {
		r.Speed *= how.Rate
	}
	if p, ok := s.(Pitcher); ok && how.Pitch != 0 {
		s = p.Pitched(how.Pitch)
	}
	samples, spans, err := s.Speak(ctx, u.symbols, r.Voice, r.Speed, r.Seed)
	if err != nil {
		return Chunk{}, err
	}
	if len(spans) != len(u.symbols)+2 {
		return Chunk{}, fmt.Errorf("tts: %d spans for %d symbols", len(spans), len(u.symbols))
	}
	u.volume(samples, spans, rate)
	out := lastOut
	if !last && pause == 0 {
		out = tail(lastMark(u.units)) / r.Speed
	}
	samples, cut := trim(samples, rate, leadIn, out)
	if pause > 0 {
		samples = append(samples, make([]float32, pause)...)
	}
	// Where symbol i begins, in samples of the chunk.
	starts := make([]int, len(u.symbols)+1)
	sum := spans[0] - cut
	for i := range starts {
		starts[i] = min(max(sum, 0), len(samples))
		sum += spans[1+i]
	}
	c := Chunk{Samples: samples, Symbols: len(u.symbols)}
	for i, w := range u.units {
		if w.mark != 0 || w.pause > 0 {
			continue
		}
		c.Words = append(c.Words, Word{
			Start: w.start, End: w.end, Said: w.said,
			From: float64(at+starts[u.at[i][0]]) / float64(rate),
			To:   float64(at+starts[u.at[i][1]]) / float64(rate),
		})
	}
	return c, nil
}

// lastMark returns the mark an utterance ends with, closing quotes left out.
func lastMark(units []unit) rune {
	for i := len(units) - 1; i >= 0; i-- {
		if m := units[i].mark; m == 0 || !slices.Contains(closing, m) {
			return m
		}
	}
	return 0
}
