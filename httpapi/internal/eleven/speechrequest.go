package eleven

import (
	"cmp"
	"strconv"

	"quern/engine"
	"quern/httpapi/internal/audio"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
)

// A vendorSpeech is a request for speech, checked.
type vendorSpeech struct {
	engine.SpeakRequest
	model        string
	format       *audio.Sound
	streamFormat string
}

// readVendorSpeech reads a request body and the address. Errors are in the vendor's form,
// with status 422.
func (a api) readVendorSpeech(c *server.Call, o *body.Object) (*vendorSpeech, error) {
	r := &vendorSpeech{SpeakRequest: engine.SpeakRequest{Speed: 1, Voice: c.Params.ByName("voice_id")}}
	if v, ok := o.Need("text"); ok {
		r.Text = v.Str()
		audio.CheckText(a.API, v, r.Text)
	}
	r.SSML, r.Lexicon = audio.Reading(o, r.Text)
	for _, m := range misplaced {
		if _, sent := o.Sent(m.name); sent && o.Has(m.name) { // else no field to say that another is nearly it
			c.Warn(m.name + " has no effect in the body: " + m.instead)
		}
	}
	if speed := readSettings(o); speed != nil {
		r.Speed = *speed
	}
	r.model = o.Str("model_id")
	r.Seed = uint64(o.Integer("seed", 0, 0, 1<<53))
	r.streamFormat = o.OneOf("stream_format", "audio", "sse")
	r.Language = audio.Language(o, "language_code")
	for _, u := range unabled {
		u.inBody(o)
	}
	readDictionaries(o, "write a phoneme into the text as SSML")
	o.Boolean("apply_language_text_normalization", false) // every language is always read so
	// The texts around a text do not change its pronunciation.
	for _, name := range []string{"previous_text", "next_text"} {
		if o.Str(name) != "" {
			c.Warn(name + " has no effect: texts are read each for itself")
		}
	}
	for _, name := range []string{"previous_request_ids", "next_request_ids"} {
		if readIDs(o, name) > 0 {
			c.Warn(name + " has no effect: nothing that was spoken is kept")
		}
	}
	if err := a.Finish(c, o); err != nil {
		return nil, err
	}
	q := body.Query{Values: c.R.URL.Query()}
	readUsual(&q)
	if s := q.OneOf("stream_format", "", "audio", "sse"); r.streamFormat == "" {
		r.streamFormat = s
	}
	if q.Err != nil {
		return nil, q.Err
	}
	name := cmp.Or(q.Values.Get("output_format"), vendorFormat)
	var ok bool
	if r.format, ok = vendorSound(name); !ok {
		return nil, fault.New(fault.CodeOutputFormat, "output_format", "output_format %.60q is not offered; ask for mp3_44100_128, pcm_24000, wav_24000, ulaw_8000, opus_48000_64 or another of the vendor's names", name)
	}
	return r, nil
}

// misplaced are members of OpenAI's speech, and of the address, that clients may put into the body
// by mistake.
var misplaced = []struct{ name, instead string }{
	{"output_format", "it belongs in the address, ?output_format=NAME"},
	{"response_format", "ask for a format in the address, ?output_format=NAME"},
	{"speed", "send voice_settings.speed"},
	{"language", "send language_code"}, {"lang_code", "send language_code"},
	{"voice", "the voice stands in the path"},
}

// readSettings reads voice_settings, of which only the tempo has a meaning here; nil is
// unchanged. The vendor's range of it is narrower than ours: values outside are clamped
// to ours.
func readSettings(o *body.Object) *float64 {
	s := o.Object("voice_settings")
	if s == nil {
		return nil
	}
	for _, name := range []string{"stability", "similarity_boost", "style"} {
		s.Number(name, 0, 1)
	}
	s.Boolean("use_speaker_boost", false)
	v := s.Number("speed", 0, 100)
	if v == nil {
		return nil
	}
	return new(min(max(float64(*v), audio.MinSpeed), audio.MaxSpeed))
}

// readDictionaries refuses dictionaries that a client says it has stored.
func readDictionaries(o *body.Object, instead string) {
	const name = "pronunciation_dictionary_locators"
	for v := range o.Items(name) {
		v.Refuse(engine.CodeInvalidValue, name, "%s: no dictionaries are stored here; %s, or set models[].lexicon of the server", name, instead)
	}
}

// mostIDs is how many requests may be named beside a text, as the vendor's.
const mostIDs = 3

// readIDs reads names of requests, and returns how many there are.
func readIDs(o *body.Object, name string) (n int) {
	for v := range o.Items(name) {
		if n++; n > mostIDs {
			o.Refuse(engine.CodeInvalidValue, name, "%s must be at most %d", name, mostIDs)
		}
		v.Str()
	}
	return n
}

// readUsual reads parameters of every route of speech that have no effect:
// no speech is kept, and there is one latency, the least.
func readUsual(q *body.Query) {
	q.OneOf("enable_logging", "true", "false", "1", "0")
	q.OneOf("optimize_streaming_latency", "0", "1", "2", "3", "4")
}

// An unable is a field with a value that is not supported.
type unable struct {
	name   string
	values []string // nil: true or false
	value  string
	why    string
}

// unabled are such fields of all routes of speech.
var unabled = []unable{
	{"apply_text_normalization", []string{"auto", "on", "off"}, "off", "numbers and abbreviations are always read as words"},
	{"use_pvc_as_ivc", nil, "true", "there are no cloned voices here"},
}

const unabledText = "%s: %s is not supported: %s; leave it out"

func (u unable) inBody(o *body.Object) {
	v, ok := o.Get(u.name)
	if !ok {
		return
	}
	var got string
	if u.values == nil {
		got = strconv.FormatBool(v.Boolean())
	} else {
		got = v.OneOf(u.values...)
	}
	if got == u.value {
		v.Refuse(engine.CodeUnsupportedParam, u.name, unabledText, u.name, u.value, u.why)
	}
}

func (u unable) inQuery(q *body.Query) {
	var got string
	if u.values == nil {
		got = strconv.FormatBool(q.Boolean(u.name))
	} else {
		got = q.OneOf(u.name, u.values...)
	}
	if got == u.value && q.Err == nil {
		q.Err = fault.New(engine.CodeUnsupportedParam, u.name, unabledText, u.name, u.value, u.why)
	}
}
