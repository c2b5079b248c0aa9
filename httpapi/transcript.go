package httpapi

import (
	"math"
	"strings"

	"quern/engine"
)

type wordObject struct {
	Word  string  `json:"word"`
	Start float64 `json:"start"`
	End   float64 `json:"end"`
}

type segmentObject struct {
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

type durationUsage struct {
	Type    string  `json:"type"`
	Seconds float64 `json:"seconds"`
}

type heardLogprob struct {
	Token   string  `json:"token"`
	Logprob float64 `json:"logprob"`
	Bytes   []int   `json:"bytes"`
}

// ms rounds seconds to milliseconds, so that answers are short and stable.
func ms(seconds float64) float64 { return math.Round(seconds*1000) / 1000 }

func newSegment(s engine.Segment) segmentObject {
	o := segmentObject{s.ID, s.Seek, ms(s.Start), ms(s.End), s.Text, []int{}, s.Temperature, s.AvgLogprob, s.CompressionRatio, s.NoSpeechProb}
	for _, id := range s.Tokens {
		o.Tokens = append(o.Tokens, int(id))
	}
	return o
}

func (t *transcript) wordObjects() []wordObject {
	out := []wordObject{}
	for _, s := range t.segments {
		for _, w := range s.Words {
			out = append(out, wordObject{strings.TrimSpace(w.Text), ms(w.Start), ms(w.End)})
		}
	}
	return out
}

func (t *transcript) segmentObjects() []segmentObject {
	out := []segmentObject{}
	for _, s := range t.segments {
		out = append(out, newSegment(s))
	}
	return out
}

func (t *transcript) logprobs() []heardLogprob {
	out := []heardLogprob{}
	for _, s := range t.segments {
		for _, l := range s.Logprobs {
			o := heardLogprob{Token: strings.ToValidUTF8(string(l.Bytes), "\ufffd"), Logprob: float64(l.Logprob), Bytes: []int{}}
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
	Segments     *[]segmentObject `json:"segments,omitempty"`
	Words        *[]wordObject    `json:"words,omitempty"`
	Usage        durationUsage    `json:"usage"`
}

func (t *transcript) verbose(translated, segments, words bool) verbose {
	v := verbose{"transcribe", engine.LanguageName(t.info.Language), t.info.Language, ms(t.info.Duration), t.text, nil, nil, durationUsage{"duration", ms(t.info.Duration)}}
	if translated {
		v.Task, v.Language = "translate", "english"
	}
	if segments {
		v.Segments = new(t.segmentObjects())
	}
	if words {
		v.Words = new(t.wordObjects())
	}
	return v
}

// Verbose returns what verbose_json says of a transcript, ready to be encoded.
func Verbose(segments []engine.Segment, info engine.TranscribeInfo, translated, words bool) any {
	t := &transcript{segments: segments, info: info}
	var text strings.Builder
	for _, s := range segments {
		text.WriteString(s.Text)
	}
	t.text = strings.TrimSpace(text.String())
	return t.verbose(translated, true, words)
}
