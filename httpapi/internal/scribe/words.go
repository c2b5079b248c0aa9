package scribe

import (
	"math"
	"strings"

	"quern/httpapi/transcript"
)

// A word is a word of a committed transcript, or the space between two.
type word struct {
	Text    string  `json:"text"`
	Start   float64 `json:"start"`
	End     float64 `json:"end"`
	Type    string  `json:"type"`
	Logprob float64 `json:"logprob"`
}

// words are those of a transcript that begins at a time, with the spaces between them.
func words(t *transcript.Transcript, at float64) []word {
	out := []word{}
	end := at
	for _, s := range t.Segments {
		for _, w := range s.Words {
			text := strings.TrimSpace(w.Text)
			if text == "" {
				continue
			}
			w.Start, w.End = w.Start+at, w.End+at
			if len(out) > 0 && w.Text != text {
				out = append(out, word{" ", transcript.Round(end), transcript.Round(max(end, w.Start)), "spacing", 0})
			}
			out = append(out, word{text, transcript.Round(w.Start), transcript.Round(w.End), "word", math.Log(max(w.Probability, 1e-9))})
			end = w.End
		}
	}
	return out
}
