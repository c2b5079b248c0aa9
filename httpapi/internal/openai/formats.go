package openai

import (
	"slices"
	"strings"

	"quern/httpapi/internal/audio"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
)

// speechBitrate is the bitrate at which a voice as MP3 sounds like the original.
const speechBitrate = 64000

// formats are the values of response_format: those of OpenAI's clients, and AAC in an
// MP4 file (m4a).
var formats = []string{"mp3", "opus", "aac", "flac", "wav", "pcm", "m4a"}

// readFormat reads response_format; nil after an error.
func readFormat(o *body.Object) *audio.Sound {
	name := "mp3"
	v, ok := o.Get("response_format")
	if ok {
		name = v.Str()
	}
	if ok && !slices.Contains(formats, name) {
		v.Invalid("must be one of %s, got %.60q", strings.Join(formats, ", "), name)
		return nil
	}
	s, err := audio.NewSound(name, 0, 0)
	if err != nil {
		o.Refuse(fault.CodeInternal, "", "%v", err)
		return nil
	}
	if name == "mp3" {
		s.Bitrate = speechBitrate
	}
	return s
}
