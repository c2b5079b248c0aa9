package eleven

import (
	"net/url"
	"strings"
	"time"

	"quern/engine"
	"quern/httpapi/internal/audio"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
)

// Seconds without a message, and of them the most a client may ask for.
const (
	liveIdle     = 20
	mostLiveIdle = 180
)

// A liveQuery is what the address of …/stream-input says.
type liveQuery struct {
	engine.SpeakRequest
	format *audio.Sound
	idle   time.Duration
	auto   bool // text is spoken clause by clause
	key    string
}

// liveFormats are names of the vendor's for this endpoint that lack a bitrate.
var liveFormats = map[string]string{"": vendorFormat, "mp3_44100": vendorFormat}

// readLiveQuery reads the address. What is not done is refused by name.
func readLiveQuery(c *server.Call) (*liveQuery, error) {
	q := body.Query{Values: c.R.URL.Query()}
	in := &liveQuery{SpeakRequest: engine.SpeakRequest{Voice: c.Params.ByName("voice_id"), Speed: 1}}
	in.auto = q.Boolean("auto_mode")
	in.SSML = q.Boolean("enable_ssml_parsing")
	in.idle = time.Duration(q.Number("inactivity_timeout", liveIdle, 1, mostLiveIdle)) * time.Second
	in.Seed = uint64(q.Number("seed", 0, 0, 1<<32-1))
	in.key = strings.TrimSpace(strings.TrimPrefix(q.Values.Get("authorization"), "Bearer "))
	// Every message has its times, nothing is logged, and there is one latency: the least.
	q.Boolean("sync_alignment")
	q.OneOf("enable_logging", "true", "false", "1", "0")
	q.OneOf("optimize_streaming_latency", "0", "1", "2", "3", "4")
	if q.Err != nil {
		return nil, q.Err
	}
	if q.Values.Get("apply_text_normalization") == "off" {
		return nil, refuseQuery("apply_text_normalization", "apply_text_normalization=off is not supported: numbers and abbreviations are always read as words; leave it out")
	}
	q.OneOf("apply_text_normalization", "auto", "on")
	for name, why := range map[string]string{
		"single_use_token": "single_use_token is not supported: no such tokens are made here; send xi-api-key",
		"use_pvc_as_ivc":   "use_pvc_as_ivc is not supported: there are no cloned voices here; leave it out",
	} {
		if v := q.Values.Get(name); v != "" && v != "false" {
			return nil, refuseQuery(name, why)
		}
	}
	if q.Err != nil {
		return nil, q.Err
	}
	in.Language = languageOf(q.Values)
	name := q.Values.Get("output_format")
	if full, ok := liveFormats[name]; ok {
		name = full
	}
	var ok bool
	if in.format, ok = vendorSound(name); !ok || strings.HasPrefix(name, "wav") {
		return nil, fault.New(fault.CodeOutputFormat, "output_format", "output_format %.60q is not offered here; ask for mp3_44100_128, pcm_24000, ulaw_8000, opus_48000_64 or another of the vendor's names", name)
	}
	return in, nil
}

func refuseQuery(name, why string) error {
	return fault.New(engine.CodeUnsupportedParam, name, "%s", why)
}

// languageOf is language_code; "en" is the voice's own English.
func languageOf(q url.Values) string {
	if code := strings.ToLower(q.Get("language_code")); code != "en" {
		return code
	}
	return ""
}
