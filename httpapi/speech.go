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

// The tempo clients may ask for.
const minSpeed, maxSpeed = 0.5, 2.0

// speech answers POST /v1/audio/speech.
func (a *API) speech(c *call) error {
	o, err := a.readObject(c)
	if err != nil {
		return err
	}
	r := engine.SpeakRequest{Speed: 1}
	model := o.str("model")
	if v, ok := o.need("input"); ok {
		r.Text = v.str()
		a.checkSpeechText(v, r.Text)
	}
	r.Voice = readVoice(o)
	format := readFormat(o)
	if s := o.number("speed", minSpeed, maxSpeed); s != nil {
		r.Speed = float64(*s)
	}
	events := o.oneOf("stream_format", "audio", "sse") == "sse"
	if events && format != nil && format.Name != "mp3" {
		o.p.set(fail(codeInvalidValue, "response_format", "stream_format \"sse\" carries mp3; leave response_format out or ask for stream_format \"audio\""))
	}
	streamed := o.boolean("stream", false)
	r.Language = speechLanguages[o.oneOf("lang_code", "a", "b", "en", "en-us", "en-gb")]
	r.Seed = uint64(o.integer("seed", 0, 0, 1<<53))
	r.KeepAlive = readKeepAlive(o)
	o.ignore("instructions", "user")
	if err := a.finish(c, o); err != nil {
		return err
	}
	logCaller(c, o)
	if err := a.startSpeech(c, model, &r); err != nil {
		return err
	}
	if events {
		return a.speakEvents(c, r, format, false)
	}
	return a.speakSound(c, r, format, streamed)
}

// speechLanguages are the spellings of lang_code; Kokoro's servers use letters.
var speechLanguages = map[string]string{"a": "en-us", "en": "en-us", "en-us": "en-us", "b": "en-gb", "en-gb": "en-gb"}

func (a *API) checkSpeechText(v value, text string) {
	switch n := utf8.RuneCountInString(text); {
	case strings.TrimSpace(text) == "":
		v.invalid("must not be empty")
	case n > a.o.SpeechChars:
		v.p.set(fail(codeTooLong, v.path(), "%s has %d characters; the limit is %d (limits.speech_chars)", v.path(), n, a.o.SpeechChars))
	}
}

// readVoice reads a voice's name, or an object with its id as newer SDKs send.
func readVoice(o *object) string {
	v, ok := o.need("voice")
	if !ok {
		return ""
	}
	if v.kind() != '{' {
		return v.str()
	}
	if o := v.object(); o != nil {
		if id, ok := o.need("id"); ok {
			return id.str()
		}
	}
	return ""
}

// startSpeech finds and loads the model and checks the voice, so that whatever
// is wrong with them has a status of its own.
func (a *API) startSpeech(c *call, model string, r *engine.SpeakRequest) error {
	if _, err := a.prepare(c, model, engine.KindSpeech); err != nil {
		return err
	}
	return c.lease.CheckVoice(r.Voice)
}

// speakSound answers with the bytes of one audio file: as they are made, or in
// one piece where its header holds its size.
func (a *API) speakSound(c *call, r engine.SpeakRequest, f *sound, streamed bool) error {
	if f.sized() && !streamed {
		ctx, cancel := a.withRequestTimeout(c.r.Context(), c)
		defer cancel()
		file := a.temp.New()
		defer file.Close()
		t, err := a.encode(ctx, c.lease, r, f, file, false, nil)
		if err != nil {
			return err
		}
		logSpeech(c, t)
		return a.writeSized(c, f.MIME, file.Size(), func(w io.Writer) error {
			_, err := file.WriteTo(w)
			return err
		})
	}
	s := a.newStream(c, soundOf(f.MIME))
	return speakPieces(a, c, r, f, pieces[[]byte]{
		out: s, write: s.bytes,
		spell: func(p []byte, _ *engine.Speech) ([]byte, bool) { return bytes.Clone(p), len(p) > 0 },
	})
}

// speakEvents answers with server-sent events of base64. In the vendor's dialect
// they say whether they are the last.
func (a *API) speakEvents(c *call, r engine.SpeakRequest, f *sound, vendor bool) error {
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
	s := a.newStream(c, serverEvents)
	return speakPieces(a, c, r, f, pieces[any]{
		out: s, write: s.event,
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
	out   *eventWriter
	write func(T) error
	// spell says what is sent of the bytes of a chunk, and whether anything is. What
	// the encoder held back to the end has no chunk.
	spell func(p []byte, chunk *engine.Speech) (T, bool)
	last  func(*speechTally) T // nil for nothing
}

// speakPieces streams speech as it is made.
func speakPieces[T any](a *API, c *call, r engine.SpeakRequest, f *sound, as pieces[T]) error {
	var t *speechTally
	err := streamWork(a, c, as.out, as.write, func(ctx context.Context, send func(T) error) error {
		var buf bytes.Buffer
		piece := func(chunk *engine.Speech) error {
			v, ok := as.spell(buf.Bytes(), chunk)
			buf.Reset()
			if !ok {
				return nil
			}
			return send(v)
		}
		spoken, err := a.encode(ctx, c.lease, r, f, &buf, true, func(s engine.Speech) error { return piece(&s) })
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
func (a *API) encode(ctx context.Context, l engine.Lease, r engine.SpeakRequest, f *sound, w io.Writer, streamed bool, then func(engine.Speech) error) (*speechTally, error) {
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
	logTally(c, c.model(), &tally{prompt: t.symbols})
}

// voices answers GET /v1/audio/voices. Some clients read only ids and names.
func (a *API) voices(c *call) error {
	type voice struct {
		ID          string `json:"id"`
		Name        string `json:"name"`
		Object      string `json:"object"`
		Language    string `json:"language,omitempty"`
		Gender      string `json:"gender,omitempty"`
		Description string `json:"description,omitempty"`
		AliasOf     string `json:"alias_of,omitempty"`
		Model       string `json:"model"`
	}
	list := []voice{}
	for _, v := range a.o.Engine.Voices() {
		if v.Opaque {
			continue
		}
		list = append(list, voice{v.ID, v.Name, "audio.voice", v.Language, v.Gender, v.Description, v.AliasOf, v.Model})
	}
	return a.writeJSON(c, 200, struct {
		Object string  `json:"object"`
		Voices []voice `json:"voices"`
	}{"list", list})
}

// phonemize answers POST /v1/audio/phonemize: how a text would be pronounced.
func (a *API) phonemize(c *call) error {
	o, err := a.readObject(c)
	if err != nil {
		return err
	}
	var text string
	if v, ok := o.need("input"); ok {
		text = v.str()
		a.checkSpeechText(v, text)
	}
	language := speechLanguages[o.oneOf("lang_code", "a", "b", "en", "en-us", "en-gb")]
	if err := a.finish(c, o); err != nil {
		return err
	}
	ctx, cancel := a.withRequestTimeout(c.r.Context(), c)
	defer cancel()
	words, err := a.o.Engine.Phonemize(ctx, text, language)
	if err != nil {
		return classify(ctx, err)
	}
	type word struct {
		Text     string `json:"text"`
		Start    int    `json:"start"`
		End      int    `json:"end"`
		Phonemes string `json:"phonemes"`
		Source   string `json:"source,omitempty"`
	}
	out := struct {
		Phonemes string `json:"phonemes"`
		Words    []word `json:"words"`
	}{Words: []word{}}
	var line strings.Builder
	for _, w := range words {
		out.Words = append(out.Words, word{w.Text, w.Start, w.End, w.Phonemes, w.Source})
		line.WriteString(w.Phonemes)
		if w.Space {
			line.WriteByte(' ')
		}
	}
	out.Phonemes = strings.TrimSpace(line.String())
	return a.writeJSON(c, 200, out)
}

// notBuilt answers paths clients know and this server has nothing behind.
func notBuilt(what string) func(*API, *call) error {
	return func(*API, *call) error { return fail(codeNotImplemented, "", "%s", what) }
}
