package tts

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Voice describes one speaker of an engine.
type Voice struct {
	ID          string
	Name        string
	Language    string // a code of package lang, which may lack it
	Gender      string // "female" or "male"
	Description string
}

// British reports whether the voice takes British pronunciation.
func (v *Voice) British() bool { return v.Language == "en-gb" }

// languages are the first letters of Kokoro's voice ids.
var languages = map[byte]struct{ code, name string }{
	'a': {"en-us", "American"}, 'b': {"en-gb", "British"}, 'e': {"es", "Spanish"}, 'f': {"fr", "French"},
	'h': {"hi", "Hindi"}, 'i': {"it", "Italian"}, 'j': {"ja", "Japanese"}, 'p': {"pt-br", "Brazilian"}, 'z': {"zh", "Chinese"},
}

// describe tells from an id like "af_bella" what it says about the voice.
func describe(id string) Voice {
	v := Voice{ID: id, Name: id, Language: "en-us"}
	prefix, name, ok := strings.Cut(id, "_")
	if !ok || len(prefix) != 2 || name == "" {
		return v
	}
	v.Name = strings.ToUpper(name[:1]) + name[1:]
	kind := "female"
	if prefix[1] == 'm' {
		kind = "male"
	}
	if l, ok := languages[prefix[0]]; ok {
		v.Language, v.Gender, v.Description = l.code, kind, l.name+" "+kind
	}
	return v
}

// A share is one voice of a mixture.
type share struct {
	id     string
	weight float64
}

// maxMix bounds how many voices one mixture names.
const maxMix = 16

// A VoiceError says that a voice is not known, or for what Reason a mixture is not
// understood.
type VoiceError struct{ Voice, Reason string }

func (e *VoiceError) Error() string {
	if e.Reason == "" {
		return fmt.Sprintf("there is no voice %q", e.Voice)
	}
	return fmt.Sprintf("voice %q: %s", e.Voice, e.Reason)
}

// parseVoice reads a voice or a mixture: "af_bella", "af_bella(2)+af_sky(1)",
// "af_bella,af_sky" and "af_sky.4+af_nicole.5" as Kokoro's servers spell them.
// Weights are made to add up to 1. known tells which names are voices and
// replaces those that stand for one.
func parseVoice(text string, known func(string) (string, bool)) ([]share, error) {
	fail := func(format string, args ...any) ([]share, error) {
		return nil, &VoiceError{text, fmt.Sprintf(format, args...)}
	}
	if id, ok := known(text); ok {
		return []share{{id, 1}}, nil
	}
	var out []share
	sum := 0.0
	for rest, sign := text, 1.0; ; {
		end := strings.IndexAny(rest, "+-,")
		part := rest
		if end >= 0 {
			part = rest[:end]
		}
		name, weight := strings.TrimSpace(part), 1.0
		if i := strings.IndexByte(name, '('); i >= 0 && strings.HasSuffix(name, ")") {
			w, err := strconv.ParseFloat(name[i+1:len(name)-1], 64)
			if err != nil {
				return fail("%q is no weight", name[i+1:len(name)-1])
			}
			name, weight = name[:i], w
		} else if i := strings.IndexByte(name, '.'); i > 0 {
			if w, err := strconv.ParseFloat("0"+name[i:], 64); err == nil {
				name, weight = name[:i], w
			}
		}
		id, ok := known(name)
		switch {
		case !ok && name == text:
			return fail("")
		case !ok:
			return fail("%q is no voice", name)
		}
		if !(weight > 0 && weight <= 100) {
			return fail("a weight of %g is outside 0 to 100", weight)
		}
		out = append(out, share{id, sign * weight})
		sum += sign * weight
		if len(out) > maxMix {
			return fail("more than %d voices in a mixture", maxMix)
		}
		if end < 0 {
			break
		}
		sign = 1
		if rest[end] == '-' {
			sign = -1
		}
		rest = rest[end+1:]
	}
	if math.Abs(sum) < 1e-6 {
		return fail("the weights add up to nothing")
	}
	for i := range out {
		out[i].weight /= sum
	}
	return out, nil
}
