package openai

import (
	"quern/engine"
	"quern/httpapi/internal/audio"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/server"
)

// The formats that have speakers.
const (
	diarizedJSON = "diarized_json"
	whisperX     = "whisperx"
)

// responseFormats are the values of response_format.
var responseFormats = []string{"json", "text", "srt", "verbose_json", "vtt", diarizedJSON, whisperX}

// readSpeakers reads whether speakers are asked for, by the format or by diarize, and the
// known facts about them. diarize and the numbers are named as by whisperX's servers.
func readSpeakers(c *server.Call, r *transcription, f *body.Form) {
	wanted := f.Boolean("diarize")
	n, least, most := audio.Count(f, "num_speakers"), audio.Count(f, "min_speakers"), audio.Count(f, "max_speakers")
	switch {
	case r.format == diarizedJSON:
		r.speakers = "response_format"
	case wanted:
		r.speakers = "diarize"
	default:
		audio.Unasked(c, f, "num_speakers", "min_speakers", "max_speakers", "known_speaker_names", "known_speaker_references")
		return
	}
	if n > 0 && (least > 0 || most > 0) {
		f.Invalid("num_speakers", "is how many there are; leave min_speakers and max_speakers out with it")
	}
	if most > 0 && least > most {
		f.Invalid("min_speakers", "must be at most max_speakers, got %d and %d", least, most)
	}
	if len(f.Values("timestamp_granularities")) > 0 && r.format == diarizedJSON {
		f.Refuse(engine.CodeUnsupportedParam, "timestamp_granularities", "diarized_json has segments only; ask for verbose_json with diarize")
	}
	d := &engine.Diarization{}
	if d.Min, d.Max = least, most; n > 0 {
		d.Min, d.Max = n, n
	}
	d.Known = audio.Known(f)
	r.Diarize = d
}
