package realtime

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"

	"quern/codecs/pcm"
	"quern/engine"
	"quern/httpapi/internal/ask"
	"quern/httpapi/internal/audio"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/server"
)

// A format is how sound travels: mono, in base64.
type format struct {
	name, beta string
	rate       int // Hz
	samples    pcm.Format
	encoding   string // of codecs
}

var formats = []format{
	{"audio/pcm", "pcm16", 24000, pcm.S16, "pcm"},
	{"audio/pcmu", "g711_ulaw", 8000, pcm.MuLaw, "mulaw"},
	{"audio/pcma", "g711_alaw", 8000, pcm.ALaw, "alaw"},
}

// A config is what a session is told to be. The slices and pointers in it are replaced,
// never changed, so that a response can keep the one it began with.
type config struct {
	listens      bool // a session of type transcription
	model        string
	instructions string
	in, out      *format
	ear          hearing
	turns        *turnDetection // nil leaves the ends of turns to the client

	sound      bool   // replies are spoken
	voice      string // "" is the model's own
	voiceModel string
	speed      float64

	tools       ask.Tools
	toolsSent   []json.RawMessage // as clients spell them; never nil
	choice      engine.ToolChoice
	chosen      json.RawMessage // tool_choice as it was sent; nil is auto
	maxTokens   int             // of a reply; 0 is no limit of the session's
	temperature *float32
	thinks      ask.Thinking
	whole       bool // a conversation that does not fit is refused, not shortened
}

// hearing is how turns are transcribed.
type hearing struct {
	asked    bool // the client wants to know the text
	model    string
	language string
	prompt   string
	keywords []string
	logprobs bool
	delay    string // one of steps; "" is none asked for
}

// turnDetection says when a speaker's turn begins and ends. Times are milliseconds.
type turnDetection struct {
	Type      string  `json:"type"`
	Threshold float32 `json:"threshold"`
	Prefix    int     `json:"prefix_padding_ms"`
	Silence   int     `json:"silence_duration_ms"`
	Create    bool    `json:"create_response"`
	Interrupt bool    `json:"interrupt_response"`
}

func serverVAD() *turnDetection { return &turnDetection{"server_vad", 0.5, 300, 500, true, true} }

func newConfig() config {
	return config{toolsSent: []json.RawMessage{}, in: &formats[0], out: &formats[0], turns: serverVAD(), sound: true, speed: 1}
}

// isNull reports whether a field is there, and null.
func isNull(o *body.Object, name string) bool {
	raw, ok := o.Sent(name)
	if ok && string(raw) == "null" {
		o.Ignore(name)
		return true
	}
	return false
}

// read takes what a session object says, in either spelling.
func (c *config) read(o *body.Object) {
	switch o.OneOf("type", "realtime", "transcription") {
	case "transcription":
		c.listens = true
	case "realtime":
		c.listens = false
	}
	if v, ok := o.Get("model"); ok {
		c.model = v.Str()
	}
	c.readReply(o)
	if a := o.Object("audio"); a != nil {
		a.Ignore("output") // readReply has read it
		if in := a.Object("input"); in != nil {
			readFormat(in, "format", &c.in)
			c.readHearing(in, "transcription")
			c.readTurns(in)
			in.Ignore("noise_reduction")
		}
	}
	readFormat(o, "input_audio_format", &c.in)
	c.readHearing(o, "input_audio_transcription")
	c.readTurns(o)
	if _, ok := o.Sent("include"); ok {
		c.ear.logprobs = false
		for v := range o.Items("include") {
			if name := v.Str(); name != "item.input_audio_transcription.logprobs" {
				v.Invalid("must be item.input_audio_transcription.logprobs, got %.60q", name)
			}
			c.ear.logprobs = true
		}
	}
	if v, ok := o.Get("truncation"); ok && v.Kind() == '"' {
		c.whole = o.OneOf("truncation", "auto", "disabled") == "disabled"
	} else if t := o.Object("truncation"); t != nil {
		t.OneOf("type", "retention_ratio")
		c.whole = false
		t.Ignore("retention_ratio", "token_limits")
	}
	o.Ignore("id", "object", "expires_at", "client_secret", "tracing", "input_audio_noise_reduction")
}

// readReply takes what sessions and responses say alike.
func (c *config) readReply(o *body.Object) {
	if v, ok := o.Get("instructions"); ok {
		c.instructions = v.Str()
	}
	for _, name := range []string{"output_modalities", "modalities"} {
		n := 0
		for v := range o.Items(name) {
			switch m := v.Str(); {
			case m != "text" && m != "audio":
				v.Invalid("must be text or audio, got %.60q", m)
			case n == 0:
				c.sound = false
				fallthrough
			default:
				c.sound = c.sound || m == "audio"
			}
			n++
		}
	}
	c.readVoice(o)
	readFormat(o, "output_audio_format", &c.out)
	if a := o.Object("audio"); a != nil {
		a.Ignore("input") // of sessions; read has it
		if out := a.Object("output"); out != nil {
			readFormat(out, "format", &c.out)
			c.readVoice(out)
			if v, ok := out.Get("model"); ok {
				c.voiceModel = v.Str()
			}
		}
	}
	c.readTools(o)
	for _, name := range []string{"max_output_tokens", "max_response_output_tokens"} {
		v, ok := o.Get(name)
		switch {
		case !ok:
		case v.Kind() == '"' && v.Str() == "inf":
			c.maxTokens = 0
		default:
			c.maxTokens = int(v.Integer(1, math.MaxInt32))
		}
	}
	if t := o.Number("temperature", 0, 2); t != nil {
		c.temperature = t
	}
	if r := o.Object("reasoning"); r != nil {
		c.thinks = ask.Thinking{}
		c.thinks.Effort(r.OneOf("effort", server.ReasoningEfforts()...))
	}
	if o.Has("prompt") {
		o.Refuse(engine.CodeUnsupportedParam, "prompt", "stored prompts are not supported; send instructions")
	}
}

// readVoice takes a voice and its tempo.
func (c *config) readVoice(o *body.Object) {
	if v, ok := o.Get("voice"); ok {
		if v.Kind() == '{' {
			if id := v.Object(); id != nil {
				if v, ok = id.Need("id"); ok {
					c.voice = v.Str()
				}
			}
		} else {
			c.voice = v.Str()
		}
	}
	if s := o.Number("speed", audio.MinSpeed, audio.MaxSpeed); s != nil {
		c.speed = float64(*s)
	}
}

// readFormat takes a format: an object, or a name of the beta API.
func readFormat(o *body.Object, field string, to **format) {
	v, ok := o.Get(field)
	if !ok {
		return
	}
	name := ""
	if v.Kind() == '{' {
		f := o.Object(field)
		if f == nil {
			return
		}
		if v, ok = f.Need("type"); !ok {
			return
		}
		name = v.Str()
		if rate, ok := f.Get("rate"); ok && name == "audio/pcm" && rate.Integer(1, math.MaxInt32) != 24000 {
			rate.Invalid("must be 24000, got %.20s", rate.Raw)
		}
		f.Ignore("rate")
	} else {
		name = v.Str()
	}
	i := slices.IndexFunc(formats, func(f format) bool { return f.name == name || f.beta == name })
	if i < 0 {
		v.Invalid("must be audio/pcm, audio/pcmu or audio/pcma, got %.60q", name)
		return
	}
	*to = &formats[i]
}

// readHearing takes how turns are transcribed; null keeps the text from the client.
func (c *config) readHearing(o *body.Object, field string) {
	if isNull(o, field) {
		c.ear.asked = false
		return
	}
	t := o.Object(field)
	if t == nil {
		return
	}
	c.ear.asked = true
	if v, ok := t.Get("model"); ok {
		c.ear.model = v.Str()
	}
	if v, ok := t.Get("prompt"); ok {
		c.ear.prompt = v.Str()
	}
	language := func(v body.Value) {
		if c.ear.language = v.Str(); c.ear.language != "" && engine.LanguageName(c.ear.language) == "" {
			v.Invalid("must be an ISO 639-1 code or an English name, got %.60q", c.ear.language)
		}
	}
	if v, ok := t.Get("language"); ok {
		language(v)
	}
	if v, ok := t.Get("languages"); ok {
		n := 0
		for item := range v.Items() {
			if n++; n > 1 { // several: it is found out
				c.ear.language = ""
				break
			}
			language(item)
		}
	}
	if v, ok := t.Get("keywords"); ok {
		c.ear.keywords = nil
		for item := range v.Items() {
			if len(c.ear.keywords) == maxKeywords {
				v.Invalid("must have at most %d entries", maxKeywords)
				break
			}
			c.ear.keywords = append(c.ear.keywords, item.Str())
		}
	}
	if t.Has("delay") {
		c.ear.delay = t.OneOf("delay", slices.Sorted(maps.Keys(steps))...)
	}
}

// maxKeywords bounds the words that may occur.
const maxKeywords = 256

// maxWait is the longest time of turn detection, in milliseconds.
const maxWait = 10000

// readTurns takes when turns end; null leaves that to the client.
func (c *config) readTurns(o *body.Object) {
	const field = "turn_detection"
	if isNull(o, field) {
		c.turns = nil
		return
	}
	t := o.Object(field)
	if t == nil {
		return
	}
	next := serverVAD()
	if c.turns != nil {
		*next = *c.turns
	}
	if v, ok := t.Get("type"); ok {
		switch kind := v.Str(); kind {
		case "server_vad":
		case "semantic_vad":
			v.Refuse(engine.CodeUnsupportedParam, v.Path(), "%s semantic_vad is not supported; use server_vad", v.Path())
		default:
			v.Invalid("must be server_vad, got %.60q", kind)
		}
	}
	if p := t.Number("threshold", 0, 1); p != nil {
		next.Threshold = *p
	}
	next.Prefix = int(t.Integer("prefix_padding_ms", int64(next.Prefix), 0, maxWait))
	next.Silence = int(t.Integer("silence_duration_ms", int64(next.Silence), 0, maxWait))
	next.Create = t.Boolean("create_response", next.Create)
	next.Interrupt = t.Boolean("interrupt_response", next.Interrupt)
	if v, ok := t.Get("idle_timeout_ms"); ok {
		v.Refuse(engine.CodeUnsupportedParam, v.Path(), "%s is not supported; send response.create when the speaker was silent for long enough", v.Path())
	}
	t.Ignore("eagerness")
	c.turns = next
}

// clone keeps what a body said beyond the body.
func clone(raw []byte) json.RawMessage { return bytes.Clone(raw) }
