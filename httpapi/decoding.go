package httpapi

import (
	"math"

	"quern/engine"
)

// decoding reads how a recogniser searches for the text and when it believes it.
// OpenAI has no such fields; these are named as in faster-whisper, whose servers
// take them too.
func (r *transcription) decoding(f *form) {
	for _, n := range []struct {
		name string
		dst  *int
	}{{"beam_size", &r.Beams}, {"best_of", &r.BestOf}} {
		if x, ok := f.number(n.name, 1, engine.MaxBeams); ok {
			if x != math.Trunc(x) {
				f.invalid(n.name, "must be a whole number, got %v", x)
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
		if x, ok := f.number(n.name, n.lo, n.hi); ok {
			*n.dst = x
		}
	}
	if x, ok := f.number("seed", -1<<53, 1<<53); ok {
		r.Seed = uint64(int64(x))
	}
	r.NoContext = f.off("condition_on_previous_text")
	r.NoTimestamps = f.boolean("without_timestamps")
	r.Prefix = f.str("prefix")
}

// maxKeywords and maxKeywordBytes bound what a request may hint at. The model
// hears of the first hundred tokens.
const (
	maxKeywords     = 256
	maxKeywordBytes = 16 << 10
)

// keywords reads the words that may occur: a list as in OpenAI's newer requests,
// or a string.
func (r *transcription) keywords(f *form) {
	for _, name := range []string{"keywords", "hotwords"} {
		n := 0
		words := f.values(name)
		for _, w := range words {
			n += len(w)
		}
		if len(words) > maxKeywords || n > maxKeywordBytes {
			f.invalid(name, "must have at most %d entries and %d bytes, got %d and %d", maxKeywords, maxKeywordBytes, len(words), n)
		}
		r.Keywords = append(r.Keywords, words...)
	}
}
