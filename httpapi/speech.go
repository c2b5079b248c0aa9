package httpapi

import (
	"strings"

	"quern/engine"
)

// speech answers POST /v1/audio/speech.
func (a openaiAPI) speech(c *call) error {
	o, err := a.readObject(c)
	if err != nil {
		return err
	}
	r := engine.SpeakRequest{Speed: 1}
	model := o.str("model")
	if v, ok := o.need("input"); ok {
		r.Text = v.str()
		CheckText(a.API, v, r.Text)
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
	if err := startSpeech(a.API, c, model, &r); err != nil {
		return err
	}
	if events {
		return speakEvents(a.API, c, r, format, false)
	}
	return speakSound(a.API, c, r, format, streamed)
}

// speechLanguages are the spellings of lang_code; Kokoro's servers use letters.
var speechLanguages = map[string]string{"a": "en-us", "en": "en-us", "en-us": "en-us", "b": "en-gb", "en-gb": "en-gb"}

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

// voices answers GET /v1/audio/voices. Some clients read only ids and names.
func (a openaiAPI) voices(c *call) error {
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
func (a openaiAPI) phonemize(c *call) error {
	o, err := a.readObject(c)
	if err != nil {
		return err
	}
	var text string
	if v, ok := o.need("input"); ok {
		text = v.str()
		CheckText(a.API, v, text)
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
