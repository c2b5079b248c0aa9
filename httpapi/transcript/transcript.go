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
}

type WordObject struct {
	Word  string  `json:"word"`
	Start float64 `json:"start"`
	End   float64 `json:"end"`
}

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
}

type DurationUsage struct {
	Type    string  `json:"type"`
	Seconds float64 `json:"seconds"`
}

type HeardLogprob struct {
	Token   string  `json:"token"`
	Logprob float64 `json:"logprob"`
	Bytes   []int   `json:"bytes"`
}

// Round rounds seconds to milliseconds, so that answers are short and stable.
func Round(seconds float64) float64 { return math.Round(seconds*1000) / 1000 }

func newSegment(s engine.Segment) SegmentObject {
	o := SegmentObject{s.ID, s.Seek, Round(s.Start), Round(s.End), s.Text, []int{}, s.Temperature, s.AvgLogprob, s.CompressionRatio, s.NoSpeechProb}
	for _, id := range s.Tokens {
		o.Tokens = append(o.Tokens, int(id))
	}
	return o
}

func (t *Transcript) WordObjects() []WordObject {
	out := []WordObject{}
	for _, s := range t.Segments {
		for _, w := range s.Words {
			out = append(out, WordObject{strings.TrimSpace(w.Text), Round(w.Start), Round(w.End)})
		}
	}
	return out
}

func (t *Transcript) SegmentObjects() []SegmentObject {
	out := []SegmentObject{}
	for _, s := range t.Segments {
		out = append(out, newSegment(s))
	}
	return out
}

func (t *Transcript) Logprobs() []HeardLogprob {
	out := []HeardLogprob{}
	for _, s := range t.Segments {
		for _, l := range s.Logprobs {
			o := HeardLogprob{Token: strings.ToValidUTF8(string(l.Bytes), "\ufffd"), Logprob: float64(l.Logprob), Bytes: []int{}}
			for _, b := range l.Bytes {
				o.Bytes = append(o.Bytes, int(b))
			}
			out = append(out, o)
		}
	}
	return out
}

// verbose is the answer verbose_json.
type verbose struct {
	Task         string           `json:"task"`
	Language     string           `json:"language"`
	LanguageCode string           `json:"language_code"`
	Duration     float64          `json:"duration"`
	Text         string           `json:"text"`
	Segments     *[]SegmentObject `json:"segments,omitempty"`
	Words        *[]WordObject    `json:"words,omitempty"`
	Usage        DurationUsage    `json:"usage"`
}

func (t *Transcript) Verbose(translated, segments, words bool) verbose {
	v := verbose{"transcribe", engine.LanguageName(t.Info.Language), t.Info.Language, Round(t.Info.Duration), t.Text, nil, nil, DurationUsage{"duration", Round(t.Info.Duration)}}
	if translated {
		v.Task, v.Language = "translate", "english"
	}
	if segments {
		v.Segments = new(t.SegmentObjects())
	}
	if words {
		v.Words = new(t.WordObjects())
	}
	return v
}

// Verbose returns what verbose_json says of a transcript, ready to be encoded.
func Verbose(segments []engine.Segment, info engine.TranscribeInfo, translated, words bool) any {
	t := &Transcript{Segments: segments, Info: info}
	var text strings.Builder
	for _, s := range segments {
		text.WriteString(s.Text)
	}
	t.Text = strings.TrimSpace(text.String())
	return t.Verbose(translated, true, words)
}
