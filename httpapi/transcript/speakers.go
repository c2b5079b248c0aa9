package transcript

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"quern/engine"
)

// A Voice is the speaker of a text, where speakers were asked for.
type Voice struct {
	Speaker string `json:"speaker,omitempty"` // "SPEAKER_00", as in whisperX, or a known name; "" where it is not known
	Overlap bool   `json:"overlap,omitempty"` // others speak meanwhile
}

func (t *Transcript) voice(speaker int, overlap bool) Voice {
	return Voice{t.Name(speaker, Numbered), overlap}
}

// Name is the name of a speaker, counted from 1: the known one, or that of
// unknown. It is "" for 0, where no speaker was found.
func (t *Transcript) Name(speaker int, unknown func(i int) string) string {
	switch {
	case t.Speakers == nil || speaker == 0:
		return ""
	case speaker <= len(t.Speakers.Names) && t.Speakers.Names[speaker-1] != "":
		return t.Speakers.Names[speaker-1]
	}
	// A known speaker's name is given to no other. Numbers stay unique, since all are moved by
	// the number of speakers.
	i := speaker - 1
	for slices.Contains(t.Speakers.Names, unknown(i)) {
		i += len(t.Speakers.Names)
	}
	return unknown(i)
}

// Numbered is whisperX's name of a speaker: SPEAKER_00.
func Numbered(i int) string { return fmt.Sprintf("SPEAKER_%02d", i) }

// Lettered is OpenAI's name: A to Z, then AA.
func Lettered(i int) string {
	s := ""
	for ; i >= 0; i = i/26 - 1 {
		s = string(rune('A'+i%26)) + s
	}
	return s
}

// A Diarized is the answer diarized_json.
type Diarized struct {
	Task     string            `json:"task"`
	Duration float64           `json:"duration"`
	Text     string            `json:"text"`
	Segments []DiarizedSegment `json:"segments"`
	Usage    DurationUsage     `json:"usage"`
	Warnings []string          `json:"warnings,omitempty"`
}

// A DiarizedSegment is a segment of one speaker, and an event of a stream.
type DiarizedSegment struct {
	Type    string  `json:"type"`
	ID      string  `json:"id"`
	Start   float64 `json:"start"`
	End     float64 `json:"end"`
	Text    string  `json:"text"`
	Speaker string  `json:"speaker"` // "unknown" where no speaker was found
	Overlap bool    `json:"overlap,omitempty"`
}

// Diarized returns the answer diarized_json.
func (t *Transcript) Diarized() Diarized {
	d := Diarized{"transcribe", Round(t.Info.Duration), t.Text, []DiarizedSegment{}, t.Usage(), t.Warnings}
	for i, s := range t.Segments {
		name := cmp.Or(t.Name(s.Speaker, Lettered), "unknown")
		d.Segments = append(d.Segments, DiarizedSegment{"transcript.text.segment", fmt.Sprintf("seg_%03d", i+1), Round(s.Start), Round(s.End), strings.TrimSpace(s.Text), name, s.Overlap})
	}
	return d
}

// A WhisperX is whisperX's output.
type WhisperX struct {
	Segments []WhisperXSegment `json:"segments"`
	Words    []WhisperXWord    `json:"word_segments"`
	Language string            `json:"language"`
	Warnings []string          `json:"warnings,omitempty"`
}

// A WhisperXSegment is one of its segments.
type WhisperXSegment struct {
	Start float64        `json:"start"`
	End   float64        `json:"end"`
	Text  string         `json:"text"`
	Words []WhisperXWord `json:"words"`
	Voice
}

// A WhisperXWord is one of its words.
type WhisperXWord struct {
	Word  string  `json:"word"`
	Start float64 `json:"start"`
	End   float64 `json:"end"`
	Score float64 `json:"score"`
	Voice
}

// WhisperX returns whisperX's output.
func (t *Transcript) WhisperX() WhisperX {
	out := WhisperX{[]WhisperXSegment{}, []WhisperXWord{}, t.Info.Language, t.Warnings}
	for _, s := range t.Segments {
		x := WhisperXSegment{Round(s.Start), Round(s.End), s.Text, []WhisperXWord{}, t.voice(s.Speaker, s.Overlap)}
		for _, w := range s.Words {
			x.Words = append(x.Words, WhisperXWord{strings.TrimSpace(w.Text), Round(w.Start), Round(w.End), Round(w.Probability), t.voice(w.Speaker, w.Overlap)})
		}
		out.Segments, out.Words = append(out.Segments, x), append(out.Words, x.Words...)
	}
	return out
}

// Spoken returns segments whose texts begin with the speaker's name, as captions of several
// speakers do.
func (t *Transcript) Spoken() []engine.Segment {
	if t.Speakers == nil {
		return t.Segments
	}
	out := make([]engine.Segment, len(t.Segments))
	for i, s := range t.Segments {
		if name := t.Name(s.Speaker, Numbered); name != "" {
			s.Text = "[" + name + "]: " + strings.TrimSpace(s.Text)
		}
		out[i] = s
	}
	return out
}
