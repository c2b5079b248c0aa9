package httpapi

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"strings"
	"unicode/utf8"

	"quern/codecs"
	"quern/engine"
)

// startSpeech finds and loads the model and checks the voice, so that whatever
// is wrong with them has a status of its own.
func startSpeech(a *API, c *call, model string, r *engine.SpeakRequest) error {
	if _, err := a.prepare(c, model, engine.KindSpeech); err != nil {
		return err
	}
	return c.lease.CheckVoice(r.Voice)
}

// speakSound answers with the bytes of one audio file: as they are made, or in
// one piece where its header holds its size.
func speakSound(a *API, c *call, r engine.SpeakRequest, f *sound, streamed bool) error {
	if f.sized() && !streamed {
		ctx, cancel := a.withRequestTimeout(c.r.Context(), c)
		defer cancel()
		file := a.temp.New()
		defer file.Close()
		t, err := encode(ctx, a, c.lease, r, f, file, false, nil)
		if err != nil {
			return err
		}
		logSpeech(c, t)
		return a.writeSized(c, f.MIME, file.Size(), func(w io.Writer) error {
			_, err := file.WriteTo(w)
			return err
		})
	}
	s := a.NewStream(c, SoundOf(f.MIME))
	return speakPieces(a, c, r, f, pieces[[]byte]{
		out: s, write: s.Bytes,
		spell: func(p []byte, _ *engine.Speech) ([]byte, bool) { return bytes.Clone(p), len(p) > 0 },
	})
}

// speakEvents answers with server-sent events of base64. In the vendor's dialect
// they say whether they are the last.
func speakEvents(a *API, c *call, r engine.SpeakRequest, f *sound, vendor bool) error {
	final := func(last bool) *bool {
		if !vendor {
			return nil
		}
		return &last
	}
	type delta struct {
		Type  string `json:"type"`
		Audio string `json:"audio"`
		Final *bool  `json:"isFinal,omitempty"`
	}
	type usage struct {
		Input  int `json:"input_tokens"`
		Output int `json:"output_tokens"`
		Total  int `json:"total_tokens"`
	}
	type done struct {
		Type  string `json:"type"`
		Final *bool  `json:"isFinal,omitempty"`
		Usage usage  `json:"usage"`
	}
	s := a.NewStream(c, ServerEvents)
	return speakPieces(a, c, r, f, pieces[any]{
		out: s, write: s.Event,
		spell: func(p []byte, _ *engine.Speech) (any, bool) {
			return delta{"speech.audio.delta", base64.StdEncoding.EncodeToString(p), final(false)}, len(p) > 0
		},
		last: func(t *speechTally) any {
			return done{"speech.audio.done", final(true), usage{t.symbols, t.frames(), t.symbols + t.frames()}}
		},
	})
}

// pieces is how speech is streamed: what is sent of each chunk, and how.
type pieces[T any] struct {
	out   *Writer
	write func(T) error
	// spell says what is sent of the bytes of a chunk, and whether anything is. What
	// the encoder held back to the end has no chunk.
	spell func(p []byte, chunk *engine.Speech) (T, bool)
	last  func(*speechTally) T // nil for nothing
}

// speakPieces streams speech as it is made.
func speakPieces[T any](a *API, c *call, r engine.SpeakRequest, f *sound, as pieces[T]) error {
	var t *speechTally
	err := StreamWork(a, c, as.out, as.write, func(ctx context.Context, send func(T) error) error {
		var buf bytes.Buffer
		piece := func(chunk *engine.Speech) error {
			v, ok := as.spell(buf.Bytes(), chunk)
			buf.Reset()
			if !ok {
				return nil
			}
			return send(v)
		}
		spoken, err := encode(ctx, a, c.lease, r, f, &buf, true, func(s engine.Speech) error { return piece(&s) })
		if err == nil {
			err = piece(nil)
		}
		if err == nil && as.last != nil {
			err = send(as.last(spoken))
		}
		t = spoken
		return err
	})
	if t != nil {
		logSpeech(c, t)
	}
	return err
}

// A speechTally counts what was spoken.
type speechTally struct {
	symbols int // phonemes
	samples int
	rate    int
}

// frames are the output tokens of usage: 25 ms each.
func (t *speechTally) frames() int {
	if t.rate == 0 {
		return 0
	}
	return (40*t.samples + t.rate - 1) / t.rate
}

// encode speaks r and writes it to w. After every chunk, once its bytes are
// written as far as the encoding can, then is called.
func encode(ctx context.Context, a *API, l engine.Lease, r engine.SpeakRequest, f *sound, w io.Writer, streamed bool, then func(engine.Speech) error) (*speechTally, error) {
	t := &speechTally{}
	var e codecs.Encoder
	for chunk, err := range l.Speak(ctx, r) {
		if err != nil {
			return nil, classify(ctx, err)
		}
		if e == nil {
			if e, err = f.Create(w, chunk.Rate, 1, f.options(streamed)); err != nil {
				return nil, err
			}
			t.rate = chunk.Rate
		}
		if err := e.Write(chunk.Samples); err != nil {
			return nil, err
		}
		a.metrics.heard(audioOut, float64(len(chunk.Samples))/float64(chunk.Rate))
		t.symbols += chunk.Symbols
		t.samples += len(chunk.Samples)
		if then != nil {
			if err := then(chunk); err != nil {
				return nil, err
			}
		}
	}
	if e == nil {
		return nil, fail(codeInvalidValue, "input", "the text has nothing in it that can be spoken")
	}
	return t, e.Close()
}

func logSpeech(c *call, t *speechTally) {
	c.logTokens(t.symbols, 0)
}

// The tempo clients may ask for.
const minSpeed, maxSpeed = 0.5, 2.0

// CheckText refuses what nobody can speak.
func CheckText(a *API, v value, text string) {
	switch n := utf8.RuneCountInString(text); {
	case strings.TrimSpace(text) == "":
		v.invalid("must not be empty")
	case n > a.o.SpeechChars:
		v.p.set(fail(codeTooLong, v.path(), "%s has %d characters; the limit is %d (limits.speech_chars)", v.path(), n, a.o.SpeechChars))
	}
}
