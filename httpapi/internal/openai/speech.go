package openai

import (
	"strings"

	"quern/engine"
	"quern/httpapi/internal/ask"
	"quern/httpapi/internal/audio"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
)

// speech answers POST /v1/audio/speech.
func (a api) speech(c *server.Call, o *body.Object) error {
	r := engine.SpeakRequest{Speed: 1}
	model := o.Str("model")
	if v, ok := o.Need("input"); ok {
		r.Text = v.Str()
		audio.CheckText(a.API, v, r.Text)
	}
	r.SSML, r.Lexicon = audio.Reading(o, r.Text)
	r.Voice = readVoice(o)
	format := readFormat(o)
	if s := o.Number("speed", audio.MinSpeed, audio.MaxSpeed); s != nil {
		r.Speed = float64(*s)
	}
	events := o.OneOf("stream_format", "audio", "sse") == "sse"
	if events && format != nil && format.Name != "mp3" {
		o.Refuse(engine.CodeInvalidValue, "response_format", "stream_format \"sse\" carries mp3; leave response_format out or ask for stream_format \"audio\"")
	}
	streamed := o.Boolean("stream", false)
	r.Language = audio.Language(o, "lang_code", "language", "language_code")
	ask.RefuseOthers(o, otherSpeech)
	if n := o.Object("normalization_options"); n != nil {
		ask.RefuseOthers(n, otherReading)
		ask.WarnOthers(c, n, otherUsual)
	}
	r.Seed = uint64(o.Integer("seed", 0, 0, 1<<53))
	r.KeepAlive = body.KeepAlive(o)
	if o.Str("instructions") != "" { // OpenAI's tts-1 takes none either
		c.Warn("instructions has no effect: the voices here take none")
	}
	o.Ignore("user")
	if err := a.Finish(c, o); err != nil {
		return err
	}
	if err := audio.StartSpeech(a.API, c, model, &r); err != nil {
		return err
	}
	if events {
		return audio.SpeakEvents(a.API, c, r, format, false)
	}
	return audio.SpeakSound(a.API, c, r, format, streamed)
}

// otherSpeech are fields of vLLM's and Kokoro-FastAPI's without a counterpart here.
var otherSpeech = []ask.Other{
	{Name: "ref_audio", Off: ask.Empty, Instead: "no voice is cloned: send voice"}, {Name: "ref_text", Off: ask.Empty, Instead: "no voice is cloned: send voice"},
	{Name: "volume_multiplier", Off: 1.0}, {Name: "return_download_link", Off: false},
	{Name: "sample_rate", Instead: "sound has the voice's own rate; /v1/text-to-speech/VOICE?output_format= has names of other rates"},
	{Name: "allow_voice_tags", Off: false, Instead: "one voice speaks a text: send a request for each"},
}

// otherReading are members of Kokoro-FastAPI's normalization_options, all of which is done here.
var otherReading = []ask.Other{
	{Name: "normalize", Off: true}, {Name: "url_normalization", Off: true}, {Name: "email_normalization", Off: true},
	{Name: "optional_pluralization_normalization", Off: true}, {Name: "phone_normalization", Off: true}, {Name: "replace_remaining_symbols", Off: true},
}

// otherUsual is the one of them that is off in Kokoro-FastAPI unless it is asked for.
var otherUsual = []ask.Other{{Name: "unit_normalization", Off: true, Instead: "units are said in words"}}

// readVoice reads a voice's name, or an object with its id as newer SDKs send.
func readVoice(o *body.Object) string {
	v, ok := o.Need("voice")
	if !ok {
		return ""
	}
	if v.Kind() != '{' {
		return v.Str()
	}
	if o := v.Object(); o != nil {
		if id, ok := o.Need("id"); ok {
			return id.Str()
		}
	}
	return ""
}

// voices answers GET /v1/audio/voices. Some clients read only ids and names.
func (a api) voices(c *server.Call) error {
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
	for _, v := range a.Options.Engine.Voices() {
		if v.Opaque {
			continue
		}
		list = append(list, voice{v.ID, v.Name, "audio.voice", v.Language, v.Gender, v.Description, v.AliasOf, v.Model})
	}
	return a.WriteJSON(c, 200, struct {
		Object string  `json:"object"`
		Voices []voice `json:"voices"`
	}{"list", list})
}

// phonemize answers POST /v1/audio/phonemize: how a text would be pronounced.
func (a api) phonemize(c *server.Call, o *body.Object) error {
	var r engine.PhonemizeRequest
	if v, ok := o.Need("input"); ok {
		r.Text = v.Str()
		audio.CheckText(a.API, v, r.Text)
	}
	r.SSML, r.Lexicon = audio.Reading(o, r.Text)
	r.Language = audio.Language(o, "lang_code", "language")
	if err := a.Finish(c, o); err != nil {
		return err
	}
	ctx, cancel := a.WithRequestTimeout(c.R.Context(), c)
	defer cancel()
	words, err := a.Options.Engine.Phonemize(ctx, r)
	if err != nil {
		return fault.Classify(ctx, err)
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
	return a.WriteJSON(c, 200, out)
}
