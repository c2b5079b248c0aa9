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
	Language string // a tag of package lang; "" is the voice's own

	SSML     bool       // Text is SSML
	Lexicons []*Lexicon // the first that has a word decides

	// More, where there is one, gives what follows Text: it waits until there is some, and
	// returns io.EOF behind the last. SSML is read when it is flushed, or ends.
	More func(context.Context) (More, error)
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
// something is heard soon. It stops when ctx ends or the loop is left. A text that comes
// in pieces sounds as if it had come at once.
//
// The error is a *VoiceError for an unknown voice, and wraps ErrLanguage for a
// language that cannot be pronounced and ErrScript for letters it is not written in.
func Speak(ctx context.Context, s Synth, p *Pronouncer, r Request) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		voice, err := First(s.Voices(), r.Voice)
		if err != nil {
			yield(Chunk{}, err)
			return
		}
		g := growing{p: p, limit: s.Limit(), more: r.More, ended: r.More == nil,
			as: Text{Text: r.Text, SSML: r.SSML, Language: r.Language, Usual: voice.Language, Lexicons: r.Lexicons}}
		t := teller{s: s, r: r, cutter: newSplitter(s)}
		for more := true; more; {
			if err = t.tell(ctx, &g, yield); err == nil {
				more, err = g.wait(ctx)
			}
			if errors.Is(err, errLeft) {
				return
			}
			if err != nil {
				yield(Chunk{}, err)
				return
			}
		}
	}
}

// errLeft says that the loop over the chunks was left.
var errLeft = errors.New("left")

// A teller speaks what there is of a text.
type teller struct {
	s      Synth
	r      Request
	cutter *splitter
	at     int     // samples so far
	said   int     // bytes of the text so far
	owed   float64 // seconds of silence, should more follow
}

// tell speaks what can be spoken of a text so far.
func (t *teller) tell(ctx context.Context, g *growing, yield func(Chunk, error) bool) error {
	if !g.due() {
		return nil
	}
	units, known, sure, err := g.read(ctx)
	if err == nil {
		err = able(t.s, units[min(g.said, len(units)):], g.language)
	}
	if err != nil {
		return err
	}
	whole := g.whole() || g.haste != Patient
	if g.haste == Sentences && !g.whole() && length(units[min(g.said, known):known]) < fewSymbols {
		return nil // a stump waits for its neighbour
	}
	for g.said < known {
		n, settled := t.cutter.next(units[g.said:known], whole)
		if !settled || g.said+n > sure {
			break
		}
		u, _ := t.cutter.cut(units[g.said:], n)
		g.speak(units, n)
		last := g.whole() && g.said == len(units)
		owed := int(t.owed * float64(t.s.Rate()))
		c, err := render(ctx, t.s, t.r, &u, t.at+owed, last)
		if err != nil {
			return err
		}
		if owed > 0 {
			c.Samples = append(make([]float32, owed), c.Samples...)
		}
		if t.owed = 0; last {
			t.owed = max(tail(lastMark(u.units))/t.r.Speed-lastOut, 0)
			t.cutter = newSplitter(t.s)
		}
		c.Start, c.End = t.said, max(t.said, g.cut(units))
		t.said = c.End
		t.s.Floor(c.Samples, t.at, t.r.Seed)
		t.at += len(c.Samples)
		g.tried = 0
		if !yield(c, nil) {
			return errLeft
		}
	}
	g.forget(units)
	return nil
}

// A Pitcher is a Synth that can speak higher and lower than its voices are.
type Pitcher interface {
	// Pitched returns the synthesiser, so many semitones higher.
	Pitched(semitones float64) Synth
}

// ErrUnable is wrapped where a text asks for what the synthesiser cannot do.
var ErrUnable = errors.New("the voice cannot do this")

// A Limited is a Synth that does not speak every language that can be pronounced.
type Limited interface {
	// Speaks reports whether it has the sounds of a language.
	Speaks(language string) bool
}

// CheckLanguage reports whether s has the sounds of a language, given by a tag of package
// lang; "" is the voice's own. The error wraps ErrLanguage or ErrUnable.
func CheckLanguage(s Synth, tag string) error {
	if tag == "" {
		return nil
	}
	code, ok := LanguageOf(tag)
	if !ok {
		return unread(code)
	}
	if l, ok := s.(Limited); ok && !l.Speaks(code) {
		return fmt.Errorf("%w: %s has the sounds of English only; a voice of Kokoro reads %s", ErrUnable, s.Name(), LanguageName(code))
	}
	return nil
}

// able reports whether s can speak units of a language as they ask.
func able(s Synth, units []unit, language string) error {
	if len(units) > 0 {
		if err := CheckLanguage(s, language); err != nil {
			return err
		}
	}
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
