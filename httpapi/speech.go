package httpapi

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
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
	if err := a.finish(o); err != nil {
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
	info, err := a.prepare(c, model, engine.KindSpeech)
	if err != nil {
		return err
	}
	r.Model = info.ID
	return a.o.Engine.CheckVoice(r.Model, r.Voice)
}

// speakSound answers with the bytes of one audio file: as they are made, or in
// one piece where its header holds its size.
func (a *API) speakSound(c *call, r engine.SpeakRequest, f *sound, streamed bool) error {
	if f.sized() && !streamed {
		ctx, cancel := a.withRequestTimeout(c.r.Context(), c)
		defer cancel()
		file := a.temp.New()
		defer file.Close()
		t, err := a.encode(ctx, r, f, file, false, nil)
		if err != nil {
			return err
		}
		logSpeech(c, r.Model, t)
		return a.writeSized(c, f.MIME, file.Size(), func(w io.Writer) error {
			_, err := file.WriteTo(w)
			return err
		})
	}
	out := &soundWriter{c: c, mime: f.MIME}
	t, err := a.encode(c.r.Context(), r, f, out, true, out.flush)
	if err != nil {
		return err // after the header it ends the connection: a part must not pass for the whole
	}
	logSpeech(c, r.Model, t)
	return out.flush(engine.Speech{})
}

// A soundWriter sends the header with the first bytes of a file.
type soundWriter struct {
	c     *call
	mime  string
	begun bool
}

func (w *soundWriter) Write(p []byte) (int, error) {
	if !w.begun && len(p) > 0 {
		w.begun = true
		h := w.c.w.Header()
		h.Set("Content-Type", w.mime)
		h.Set("Cache-Control", "no-cache, no-transform")
		h.Set("X-Accel-Buffering", "no") // nginx would hold sound back
		w.c.w.WriteHeader(http.StatusOK)
	}
	return answer{w.c.w}.Write(p)
}

// flush is called after every chunk of speech.
func (w *soundWriter) flush(engine.Speech) error {
	if !w.begun {
		return nil
	}
	if err := w.c.w.flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return errGone
	}
	return nil
}

// speakEvents answers with server-sent events of base64. In the vendor's dialect
// they say whether they are the last.
func (a *API) speakEvents(c *call, r engine.SpeakRequest, f *sound, vendor bool) error {
	s := newEventWriter(c.w, a.o.KeepAlive)
	defer s.quiet.stop()
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
	var buf bytes.Buffer
	send := func(engine.Speech) error {
		if buf.Len() == 0 {
			return nil
		}
		d := delta{"speech.audio.delta", base64.StdEncoding.EncodeToString(buf.Bytes()), final(false)}
		buf.Reset()
		return s.event(d)
	}
	t, err := a.encode(c.r.Context(), r, f, &buf, true, send)
	if err == nil {
		err = send(engine.Speech{})
	}
	if err != nil {
		return a.streamError(c, s, classify(c.r.Context(), err))
	}
	logSpeech(c, r.Model, t)
	type usage struct {
		Input  int `json:"input_tokens"`
		Output int `json:"output_tokens"`
		Total  int `json:"total_tokens"`
	}
	return s.event(struct {
		Type  string `json:"type"`
		Final *bool  `json:"isFinal,omitempty"`
		Usage usage  `json:"usage"`
	}{"speech.audio.done", final(true), usage{t.symbols, t.frames(), t.symbols + t.frames()}})
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
func (a *API) encode(ctx context.Context, r engine.SpeakRequest, f *sound, w io.Writer, streamed bool, then func(engine.Speech) error) (*speechTally, error) {
	t := &speechTally{}
	var e codecs.Encoder
	for chunk, err := range a.o.Engine.Speak(ctx, r) {
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

func logSpeech(c *call, model string, t *speechTally) {
	logTally(c, model, &tally{prompt: t.symbols})
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
	if err := a.finish(o); err != nil {
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
