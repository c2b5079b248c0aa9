package openai

import (
	"slices"
	"strings"

	"quern/codecs"
	"quern/httpapi/internal/audio"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
)

// speechBitrate is what a voice needs as MP3 to sound as made.
const speechBitrate = 64000

// clientFormats are the values of response_format OpenAI's clients know. Those are
// offered that codecs can write.
var clientFormats = []string{"mp3", "opus", "aac", "flac", "wav", "pcm"}

// formats are the values of response_format that can be made of encodings.
func formats(encodings []codecs.Encoding) []string {
	return slices.DeleteFunc(slices.Clone(clientFormats), func(name string) bool {
		return !slices.ContainsFunc(encodings, func(e codecs.Encoding) bool { return e.Name == name })
	})
}

// readFormat reads response_format; nil after an error.
func readFormat(o *body.Object) *audio.Sound {
	name := "mp3"
	v, ok := o.Get("response_format")
	if ok {
		name = v.Str()
	}
	if offered := formats(codecs.Encodings()); ok && !slices.Contains(offered, name) {
		v.Invalid("must be one of %s, got %.60q", strings.Join(offered, ", "), name)
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
