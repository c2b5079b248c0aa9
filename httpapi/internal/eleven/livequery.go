package eleven

import (
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

// A liveQuery has the parameters of …/stream-input's address.
type liveQuery struct {
	engine.SpeakRequest
	model  string
	format *audio.Sound
	idle   time.Duration
	auto   bool // text is spoken clause by clause
	key    string
}

// liveFormats are names of the vendor's for this endpoint that lack a bitrate.
var liveFormats = map[string]string{"": vendorFormat, "mp3_44100": vendorFormat}

// readLiveQuery reads the address. Unsupported ones are refused by name.
func readLiveQuery(c *server.Call) (*liveQuery, error) {
	q := body.Query{Values: c.R.URL.Query()}
	in := &liveQuery{SpeakRequest: engine.SpeakRequest{Voice: c.Params.ByName("voice_id"), Speed: 1}}
	in.auto = q.Boolean("auto_mode")
	in.SSML = q.Boolean("enable_ssml_parsing")
	in.idle = time.Duration(q.Number("inactivity_timeout", liveIdle, 1, mostLiveIdle)) * time.Second
	in.Seed = uint64(q.Number("seed", 0, 0, 1<<32-1))
	in.key = strings.TrimSpace(strings.TrimPrefix(q.Values.Get("authorization"), "Bearer "))
	in.model = q.Values.Get("model_id")
	readUsual(&q)
	q.Boolean("sync_alignment") // every message has its times
	for _, u := range unabled {
		u.inQuery(&q)
	}
	if q.Err == nil && q.Values.Get("single_use_token") != "" {
		q.Err = fault.New(engine.CodeUnsupportedParam, "single_use_token", "single_use_token is not supported: no such tokens are made here; send xi-api-key")
	}
	in.Language = q.Values.Get("language_code")
	if q.Err != nil {
		return nil, q.Err
	}
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
