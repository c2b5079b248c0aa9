package audio

import (
	"bytes"
	"encoding/base64"
	"errors"
	"math"
	"slices"
	"strings"

	"quern/codecs"
	"quern/engine"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
)

// MaxSpeakers bounds how many speakers a request may ask for.
const MaxSpeakers = 32

// CheckDiarize refuses a request for speakers, made by the field param, to a model without
// diarization.
func CheckDiarize(c *server.Call, d *engine.Diarization, param string) error {
	if i := c.Lease.Info(); d != nil && !slices.Contains(i.Capabilities, engine.CapabilityDiarize) {
		return fault.New(engine.CodeUnsupportedParam, param, "model %q cannot tell who speaks: set diarize (segmentation and embedding) for it in the configuration, or leave speakers out", i.ID)
	}
	return nil
}

// Unasked warns of fields about speakers in a request that does not ask for any.
func Unasked(c *server.Call, f *body.Form, names ...string) {
	for _, name := range names {
		if len(f.Values(name)) > 0 {
			c.Warn(name + " has no effect: the request does not ask for speakers, by diarize or a format that has them")
		}
	}
}

// Count reads how many speakers there are of a field; 0 when absent.
func Count(f *body.Form, name string) int {
	n, ok := f.Number(name, 1, MaxSpeakers)
	if ok && n != math.Trunc(n) {
		f.Invalid(name, "must be a whole number, got %v", n)
	}
	return int(n)
}

// Known reads the speakers that are known by name, each with a sound of its voice.
func Known(f *body.Form) (list []engine.KnownVoice) {
	const names, references = "known_speaker_names", "known_speaker_references"
	n, r := f.Values(names), f.Values(references)
	if len(n) != len(r) {
		f.Invalid(references, "must be as many as %s: got %d and %d", names, len(r), len(n))
		return nil
	}
	if len(n) > engine.MaxKnownVoices {
		f.Invalid(names, "must be at most %d, got %d", engine.MaxKnownVoices, len(n))
		return nil
	}
	for i, name := range n {
		if strings.TrimSpace(name) == "" || slices.Contains(n[:i], name) {
			f.Invalid(names, "must be names that differ, got %.60q", name)
			return nil
		}
		x, err := reference(r[i])
		if err != nil {
			f.Invalid(references, "has a sound for %.60q that cannot be used: %v", name, err)
			return nil
		}
		list = append(list, engine.KnownVoice{Name: name, Sound: x})
	}
	return list
}

// reference decodes a sound in a data URL.
func reference(url string) ([]float32, error) {
	head, data, ok := strings.Cut(url, ",")
	if !ok || !strings.HasPrefix(head, "data:") || !strings.HasSuffix(head, ";base64") {
		return nil, errors.New("it must be a data URL, as data:audio/wav;base64,…")
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(data))
	if err != nil {
		return nil, errors.New("what it holds is no base64")
	}
	return codecs.Clip(bytes.NewReader(raw), engine.HearingRate, engine.LeastVoice, engine.MostVoice)
}
