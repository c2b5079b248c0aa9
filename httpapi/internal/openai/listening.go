package openai

import (
	"math"

	"quern/engine"
	"quern/httpapi/internal/body"
)

// readDecoding reads the fields of a recogniser's search and its thresholds.
// OpenAI has no such fields; these are named as in faster-whisper, whose servers
// take them too.
func readDecoding(r *transcription, f *body.Form) {
	for _, n := range []struct {
		name string
		dst  *int
	}{{"beam_size", &r.Beams}, {"best_of", &r.BestOf}} {
		if x, ok := f.Number(n.name, 1, engine.MaxBeams); ok {
			if x != math.Trunc(x) {
				f.Invalid(n.name, "must be a whole number, got %v", x)
			}
			*n.dst = int(x)
		}
	}
	for _, n := range []struct {
		name   string
		lo, hi float64
		dst    *float64
	}{
		{"patience", 0.1, 10, &r.Patience},
		{"length_penalty", 0, 10, &r.LengthPenalty},
		// 0 is the default inside, so the range ends beside it.
		{"compression_ratio_threshold", 0.1, 100, &r.MaxRatio},
		{"log_prob_threshold", -100, -0.01, &r.MinLogprob},
		{"no_speech_threshold", 0.01, 1, &r.MaxNoSpeech},
	} {
		if x, ok := f.Number(n.name, n.lo, n.hi); ok {
			*n.dst = x
		}
	}
	if x, ok := f.Number("seed", -1<<53, 1<<53); ok {
		r.Seed = uint64(int64(x))
	}
	r.NoContext = f.Off("condition_on_previous_text")
	r.NoTimestamps = f.Boolean("without_timestamps")
	r.Prefix = f.Str("prefix")
}

// maxKeywords and maxKeywordBytes bound the words that a request may give. The model's
// prompt has the first hundred tokens.
const (
	maxKeywords     = 256
	maxKeywordBytes = 16 << 10
)

// readKeywords reads the words that may occur: a list as in OpenAI's newer requests,
// or a string.
func readKeywords(r *transcription, f *body.Form) {
	for _, name := range []string{"keywords", "hotwords"} {
		n := 0
		words := f.Values(name)
		for _, w := range words {
			n += len(w)
		}
		if len(words) > maxKeywords || n > maxKeywordBytes {
			f.Invalid(name, "must have at most %d entries and %d bytes, got %d and %d", maxKeywords, maxKeywordBytes, len(words), n)
		}
		r.Keywords = append(r.Keywords, words...)
	}
}
