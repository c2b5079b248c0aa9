// Package transcript has the formats of transcriptions: captions, and JSON.
package transcript

import (
	"math"
	"strings"

	"quern/engine"
)

// A Transcript is a finished transcription.
type Transcript struct {
	Text     string
	Segments []engine.Segment
	Tokens   int
	Info     engine.TranscribeInfo
	Warnings []string         // about the sound: a part is missing, it is silent
	Speakers *engine.Speakers // nil where they were not asked for
}

// New makes the transcript of segments, which become those of speakers where these are
// known.
func New(segments []engine.Segment, info engine.TranscribeInfo, who *engine.Speakers) *Transcript {
	if who != nil {
		segments = who.Label(segments)
	}
	t := &Transcript{Segments: segments, Info: info, Speakers: who}
	var text strings.Builder
	for _, s := range segments {
		text.WriteString(s.Text)
		t.Tokens += len(s.Tokens)
	}
	t.Text = strings.TrimSpace(text.String())
	return t
}

// A WordObject is a word in JSON.
type WordObject struct {
	Word  string  `json:"word"`
	Start float64 `json:"start"`
	End   float64 `json:"end"`
	Voice
}

// A SegmentObject is a segment in JSON.
type SegmentObject struct {
	ID               int     `json:"id"`
	Seek             int     `json:"seek"`
	Start            float64 `json:"start"`
	End              float64 `json:"end"`
	Text             string  `json:"text"`
	Tokens           []int   `json:"tokens"`
	Temperature      float64 `json:"temperature"`
	AvgLogprob       float64 `json:"avg_logprob"`
	CompressionRatio float64 `json:"compression_ratio"`
	NoSpeechProb     float64 `json:"no_speech_prob"`
	Voice
}

// A DurationUsage is the usage of a transcription.
type DurationUsage struct {
	Type    string  `json:"type"`
	Seconds float64 `json:"seconds"`
}

// A HeardLogprob is a token in JSON.
type HeardLogprob struct {
	Token   string  `json:"token"`
	Logprob float64 `json:"logprob"`
	Bytes   []int   `json:"bytes"`
}

// Round rounds seconds to milliseconds, so that answers are short and stable.
func Round(seconds float64) float64 { return math.Round(seconds*1000) / 1000 }

// Usage is the transcription's.
func (t *Transcript) Usage() DurationUsage { return DurationUsage{"duration", Round(t.Info.Duration)} }

// Ints is s as JSON wants it: encoding/json would write bytes as base64.
func Ints[T ~uint8 | ~int32](s []T) []int {
	out := make([]int, len(s))
	for i, x := range s {
		out[i] = int(x)
	}
	return out
}

// WordObjects are the words of all segments.
func (t *Transcript) WordObjects() []WordObject {
	out := []WordObject{}
	for _, s := range t.Segments {
		for _, w := range s.Words {
			out = append(out, WordObject{strings.TrimSpace(w.Text), Round(w.Start), Round(w.End), t.voice(w.Speaker, w.Overlap)})
		}
	}
	return out
}

// SegmentObjects are the segments.
func (t *Transcript) SegmentObjects() []SegmentObject {
	out := []SegmentObject{}
	for _, s := range t.Segments {
		out = append(out, SegmentObject{s.ID, s.Seek, Round(s.Start), Round(s.End), s.Text, Ints(s.Tokens), s.Temperature, s.AvgLogprob, s.CompressionRatio, s.NoSpeechProb, t.voice(s.Speaker, s.Overlap)})
	}
	return out
}

// Logprobs are the tokens of segments.
func Logprobs(list ...engine.Segment) []HeardLogprob {
	out := []HeardLogprob{}
	for _, s := range list {
		for _, l := range s.Logprobs {
			out = append(out, HeardLogprob{strings.ToValidUTF8(string(l.Bytes), "\ufffd"), float64(l.Logprob), Ints(l.Bytes)})
		}
	}
	return out
}

// Language is the code of the language that the text is in: English where it is translated,
// or else the one that is spoken.
func (t *Transcript) Language(translated bool) string {
	if translated {
		return "en"
	}
	return t.Info.Language
}

// Verbose is the answer verbose_json.
type Verbose struct {
	Task         string           `json:"task"`
	Language     string           `json:"language"`
	LanguageCode string           `json:"language_code"`
	Duration     float64          `json:"duration"`
	Text         string           `json:"text"`
	Segments     *[]SegmentObject `json:"segments,omitempty"`
	Words        *[]WordObject    `json:"words,omitempty"`
	Usage        DurationUsage    `json:"usage"`
	Warnings     []string         `json:"warnings,omitempty"`
}

// Verbose returns the answer verbose_json.
func (t *Transcript) Verbose(translated, segments, words bool) Verbose {
	code := t.Language(translated)
	v := Verbose{"transcribe", engine.LanguageName(code), code, Round(t.Info.Duration), t.Text, nil, nil, t.Usage(), t.Warnings}
	if translated {
		v.Task = "translate"
	}
	if segments {
		v.Segments = new(t.SegmentObjects())
	}
	if words {
		v.Words = new(t.WordObjects())
	}
	return v
}
