package scribe

import (
	"cmp"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"quern/codecs"
	"quern/engine"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
)

// A config has the parameters of a session's address.
type config struct {
	named    string // model_id
	model    string // the recogniser
	format   string
	layout   codecs.Raw
	language string
	vad      bool
	times    bool
	detect   bool // the answer has the language
	keyterms []string

	silence    float64 // seconds that end a segment
	threshold  float64
	minSpeech  int // milliseconds
	minSilence int
}

// Bounds of parameters, which are ElevenLabs'.
const (
	maxKeyterms = 50
	maxKeyterm  = 20 // characters
)

// readConfig reads the parameters of a session, or returns their error.
func readConfig(v url.Values) (config, error) {
	q := body.Query{Values: v}
	refuse := func(name, format string, args ...any) {
		if q.Err == nil {
			q.Err = fault.New(engine.CodeInvalidValue, name, name+" "+format, args...)
		}
	}
	number := func(name string, absent, lo, hi float64) float64 {
		s := v.Get(name)
		if s == "" {
			return absent
		}
		x, err := strconv.ParseFloat(s, 64)
		if err != nil || !(x >= lo && x <= hi) {
			refuse(name, "must be from %v to %v, got %.40q", lo, hi, s)
			return absent
		}
		return x
	}
	c := config{named: v.Get("model_id"), format: v.Get("audio_format"), language: v.Get("language_code")}
	if c.named == "" {
		refuse("model_id", "is required")
	}
	c.format = cmp.Or(c.format, "pcm_16000")
	var err error
	if c.layout, err = codecs.RawByName(c.format); err != nil {
		refuse("audio_format", "%v", err)
		c.layout, _ = codecs.RawByName("pcm_16000")
	}
	if c.language != "" && engine.LanguageName(c.language) == "" {
		refuse("language_code", "must be an ISO 639 code, got %.60q", c.language)
	}
	c.vad = q.OneOf("commit_strategy", "manual", "vad") == "vad"
	c.times, c.detect = q.Boolean("include_timestamps"), q.Boolean("include_language_detection")
	c.silence = number("vad_silence_threshold_secs", 1.5, 0.3, 3)
	c.threshold = number("vad_threshold", 0.4, 0.1, 0.9)
	c.minSpeech = int(number("min_speech_duration_ms", 100, 50, 2000))
	c.minSilence = int(number("min_silence_duration_ms", 100, 50, 2000))
	for _, list := range v["keyterms"] {
		for term := range strings.SplitSeq(list, ",") {
			if n := len([]rune(term)); n > maxKeyterm {
				refuse("keyterms", "must have at most %d characters each, got %d", maxKeyterm, n)
			}
			c.keyterms = append(c.keyterms, term)
		}
	}
	if len(c.keyterms) > maxKeyterms {
		refuse("keyterms", "must be at most %d, got %d", maxKeyterms, len(c.keyterms))
	}
	for _, name := range []string{"no_verbatim", "filter_background_audio", "entity_detection", "transcript_edit", "token"} {
		if !slices.Contains([]string{"", "false"}, v.Get(name)) {
			refuse(name, "is not supported; leave it out")
		}
	}
	return c, q.Err
}

// quiet is the silence that ends a segment, in milliseconds.
func (c *config) quiet() int { return max(int(math.Round(c.silence*1000)), c.minSilence) }

// spell is the configuration in session_started.
func (c *config) spell() map[string]any {
	out := map[string]any{
		"model_id": c.named, "audio_format": c.format, "sample_rate": c.layout.Rate, "language_code": nil, "commit_strategy": "manual",
		"include_timestamps": c.times, "include_language_detection": c.detect, "keyterms": append([]string{}, c.keyterms...), "no_verbatim": false,
		"vad_silence_threshold_secs": c.silence, "vad_threshold": c.threshold, "min_speech_duration_ms": c.minSpeech, "min_silence_duration_ms": c.minSilence,
		"enable_logging": false,
	}
	if c.vad {
		out["commit_strategy"] = "vad"
	}
	if c.language != "" {
		out["language_code"] = c.language
	}
	return out
}
