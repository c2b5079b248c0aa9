package openai

import (
	"encoding/json"
	"strings"

	"quern/engine"
	"quern/httpapi/internal/body"
)

// serverVAD is chunking_strategy as an object.
type serverVAD struct {
	Type      string   `json:"type"`
	Threshold *float64 `json:"threshold"`
	Prefix    *float64 `json:"prefix_padding_ms"`
	Silence   *float64 `json:"silence_duration_ms"`
}

// readChunking reads chunking_strategy: "auto", or an object of type server_vad as
// JSON or field by field, as some clients flatten it. With either the audio is
// cut where no speech is and the pieces are decoded side by side.
func readChunking(r *transcription, f *body.Form) {
	const name = "chunking_strategy"
	text := strings.TrimSpace(f.Str(name))
	var v serverVAD
	flat := false
	for _, x := range []struct {
		key string
		to  **float64
	}{{"threshold", &v.Threshold}, {"prefix_padding_ms", &v.Prefix}, {"silence_duration_ms", &v.Silence}} {
		if n, ok := f.Number(name+"["+x.key+"]", 0, maxMilliseconds); ok {
			*x.to, flat = &n, true
		}
	}
	if kind := f.Str(name + "[type]"); kind != "" {
		v.Type, flat = kind, true
	}
	switch {
	case text == "" && !flat:
		return
	case text == "auto" && !flat:
		r.Chunked = true
		return
	case !flat:
		if json.Unmarshal([]byte(text), &v) != nil {
			f.Invalid(name, "must be auto or an object of type server_vad, got %.60q", text)
			return
		}
	}
	if v.Type != "server_vad" {
		f.Invalid(name, "must be auto or an object of type server_vad, got type %.60q", v.Type)
		return
	}
	if t := v.Threshold; t != nil && !(*t > 0 && *t < 1) {
		f.Invalid(name, "has threshold %v; it must lie between 0 and 1", *t)
		return
	}
	for _, ms := range []*float64{v.Prefix, v.Silence} {
		if ms != nil && !(*ms >= 0 && *ms <= maxMilliseconds) {
			f.Invalid(name, "has a time of %v ms; it must be from 0 to %d", *ms, maxMilliseconds)
			return
		}
	}
	r.Chunked = true
	if v.Threshold != nil {
		r.Speech.Threshold = float32(*v.Threshold)
	}
	r.Speech.Pad, r.Speech.MinSilence = seconds(v.Prefix), seconds(v.Silence)
}

// maxMilliseconds is the longest padding or silence a request may ask for.
const maxMilliseconds = 10000

// seconds is a time of SpeechOptions, where 0 is the default and what is
// negative is none.
func seconds(ms *float64) float64 {
	switch {
	case ms == nil:
		return 0
	case *ms == 0:
		return -1
	}
	return *ms / 1000
}

// readGuards reads which of the measures against made-up text are off. Both fields
// are ours; the second is named as in faster-whisper.
func readGuards(r *transcription, f *body.Form) {
	for _, list := range f.Values("without") {
		for _, name := range strings.Split(list, ",") {
			g, ok := engine.GuardNamed(strings.TrimSpace(name))
			if !ok {
				f.Invalid("without", "must be of %s, got %.60q", strings.Join(engine.GuardNames(), ", "), name)
			}
			r.Without |= g
		}
	}
	if s, ok := f.Number("hallucination_silence_threshold", 0, 30); ok {
		r.SkipSilence = s
	}
}
