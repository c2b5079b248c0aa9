// Package audio runs speech and transcription for the dialects.
package audio

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"io"
	"strings"
	"unicode/utf8"

	"quern/codecs"
	"quern/engine"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/metrics"
	"quern/httpapi/internal/server"
	"quern/httpapi/internal/stream"
)

// MinSpeed and MaxSpeed are the tempo clients may ask for.
const MinSpeed, MaxSpeed = 0.5, 2.0

// StartSpeech finds and loads the model and checks the voice and its language, so that their errors
// have a status of their own.
func StartSpeech(a *server.API, c *server.Call, model string, r *engine.SpeakRequest) error {
	if _, err := a.Prepare(c, model, engine.KindSpeech); err != nil {
		return err
	}
	return c.Lease.CheckVoice(r.Voice, r.Language)
}

// SpeakSound answers with the bytes of one audio file: as they are made, or in
// one piece where its header holds its size.
func SpeakSound(a *server.API, c *server.Call, r engine.SpeakRequest, f *Sound, streamed bool) error {
	if f.sized() && !streamed {
		ctx, cancel := a.WithRequestTimeout(c.R.Context(), c)
		defer cancel()
		file := a.Temp.New()
		defer file.Close()
		if _, err := Encode(ctx, a, c, r, f, file, false, nil); err != nil {
			return err
		}
		return a.WriteSized(c, f.MIME, file.Size(), func(w io.Writer) error {
			_, err := file.WriteTo(w)
			return err
		})
	}
	s := a.NewStream(c, stream.SoundOf(f.MIME))
	return SpeakPieces(a, c, r, f, Pieces[[]byte]{
		Out: s, Write: s.Bytes,
		Spell: func(p []byte, _ *engine.Speech) ([]byte, bool) { return bytes.Clone(p), len(p) > 0 },
	})
}

// SpeakEvents answers with server-sent events of base64. In the vendor's dialect
// they say whether they are the last.
func SpeakEvents(a *server.API, c *server.Call, r engine.SpeakRequest, f *Sound, vendor bool) error {
	final := func(last bool) *bool {
		if !vendor {
			return nil
		}
		return &last
	}
	type usage struct {
		Input  int `json:"input_tokens"`
		Output int `json:"output_tokens"`
		Total  int `json:"total_tokens"`
	}
	type event struct {
		Type  string `json:"type"`
		Audio string `json:"audio,omitempty"`
		Final *bool  `json:"isFinal,omitempty"`
		Usage *usage `json:"usage,omitempty"`
	}
	s := a.NewStream(c, stream.ServerEvents)
	return SpeakPieces(a, c, r, f, Pieces[event]{
		Out: s, Write: func(e event) error { return s.Event(e) },
		Spell: func(p []byte, _ *engine.Speech) (event, bool) {
			return event{"speech.audio.delta", base64.StdEncoding.EncodeToString(p), final(false), nil}, len(p) > 0
		},
		last: func(t *speechTally) event {
			return event{"speech.audio.done", "", final(true), &usage{t.symbols, t.frames(), t.symbols + t.frames()}}
		},
	})
}

// Pieces is how speech is streamed: the value for each chunk, and its framing.
type Pieces[T any] struct {
	Out   *stream.Writer
	Write func(T) error
	// spell returns the value to send for the bytes of a chunk, and whether to send one. Bytes that
	// the encoder held back to the end have no chunk.
	Spell func(p []byte, chunk *engine.Speech) (T, bool)
	last  func(*speechTally) T // nil for nothing
}

// SpeakPieces streams speech as it is made.
func SpeakPieces[T any](a *server.API, c *server.Call, r engine.SpeakRequest, f *Sound, as Pieces[T]) error {
	return server.StreamWork(a, c, as.Out, as.Write, func(ctx context.Context, send func(T) error) error {
		var buf bytes.Buffer
		piece := func(chunk *engine.Speech) error {
			v, ok := as.Spell(buf.Bytes(), chunk)
			buf.Reset()
			if !ok {
				return nil
			}
			return send(v)
		}
		spoken, err := Encode(ctx, a, c, r, f, &buf, true, func(s engine.Speech) error { return piece(&s) })
		if err == nil {
			err = piece(nil)
		}
		if err == nil && as.last != nil {
			err = send(as.last(spoken))
		}
		return err
	})
}

// A speechTally counts the speech that was made.
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

// Encode speaks r with the call's model and writes it to w. After every chunk, once its bytes are
// written as far as the encoding can, then is called.
func Encode(ctx context.Context, a *server.API, c *server.Call, r engine.SpeakRequest, f *Sound, w io.Writer, streamed bool, then func(engine.Speech) error) (*speechTally, error) {
	t := &speechTally{}
	err := Voice(ctx, a, c.Lease, r, f, w, streamed, func(s engine.Speech) error {
		t.rate = s.Rate
		t.symbols += s.Symbols
		t.samples += len(s.Samples)
		if then == nil {
			return nil
		}
		return then(s)
	})
	if err == nil && t.rate == 0 {
		err = fault.New(engine.CodeInvalidValue, "input", "the text has nothing in it that can be spoken")
	}
	if err != nil {
		return nil, err
	}
	c.LogTokens(t.symbols, 0)
	return t, nil
}

// Voice speaks r with a model and writes it to w. After every chunk, once its bytes are written
// as far as the encoding can, then is called; it is not for a text in which nothing can be
// spoken.
func Voice(ctx context.Context, a *server.API, l engine.Lease, r engine.SpeakRequest, f *Sound, w io.Writer, streamed bool, then func(engine.Speech) error) error {
	var e codecs.Encoder
	for chunk, err := range l.Speak(ctx, r) {
		if err != nil {
			return fault.Classify(ctx, err)
		}
		if e == nil {
			if e, err = f.Create(w, chunk.Rate, 1, f.options(streamed)); err != nil {
				return err
			}
		}
		if err := e.Write(chunk.Samples); err != nil {
			return err
		}
		a.Metrics.Heard(metrics.AudioOut, float64(len(chunk.Samples))/float64(chunk.Rate))
		if err := then(chunk); err != nil {
			return err
		}
	}
	if e == nil {
		return nil
	}
	return e.Close()
}

// Reading reads how a text is to be read: input_type, or ssml as other servers have it, which is
// ssml for what begins with <speak> if nothing else is said, and lexicon: an object of words and their
// phonemes, or the text of a lexicon.
func Reading(o *body.Object, text string) (isSSML bool, _ *engine.Lexicon) {
	isSSML = o.Boolean("ssml", engine.IsSSML(text))
	if kind := o.OneOf("input_type", "text", "ssml"); kind != "" {
		isSSML = kind == "ssml"
	}
	v, ok := o.Get("lexicon")
	if !ok {
		return isSSML, nil
	}
	source := string(v.Raw)
	switch v.Kind() {
	case '{':
	case '"':
		source = v.Str()
	default:
		v.Wrong("a string or an object")
		return isSSML, nil
	}
	l, err := engine.ParseLexicon(source)
	if err != nil {
		v.Refuse(engine.CodeInvalidValue, v.Path(), "%s: %v", v.Path(), err)
	}
	return isSSML, l
}

// CheckText refuses a text that cannot be spoken.
func CheckText(a *server.API, v body.Value, text string) {
	switch n := utf8.RuneCountInString(text); {
	case strings.TrimSpace(text) == "":
		v.Invalid("must not be empty")
	case n > a.Options.SpeechChars:
		v.Refuse(fault.CodeTooLong, v.Path(), "%s has %d characters; the limit is %d (limits.speech_chars)", v.Path(), n, a.Options.SpeechChars)
	}
}

// Language reads the language of a text from the first of these fields that is there: a
// tag such as "es-MX", or a letter as Kokoro's servers have them.
func Language(o *body.Object, names ...string) string {
	tag := ""
	for _, name := range names {
		v, ok := o.Get(name)
		if !ok {
			continue
		}
		t := v.Str()
		if _, known := engine.LanguageOf(t); t != "" && !known {
			v.Invalid("must be one of %s, got %.60q", strings.Join(engine.Languages(), ", "), t)
		}
		tag = cmp.Or(tag, t)
	}
	return tag
}
