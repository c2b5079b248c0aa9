package httpapi

import (
	"math"
	"strings"

	"quern/engine"
)

// vendorTranscription answers POST /v1/speech-to-text in ElevenLabs' shape. Their
// model names mean the default recogniser.
func (a elevenAPI) vendorTranscription(c *call) error {
	f, err := a.readForm(c)
	if err != nil {
		return err
	}
	defer f.close()
	r := &transcription{}
	r.Words = true
	r.Language = f.str("language_code")
	if r.Language != "" && engine.LanguageName(r.Language) == "" {
		f.invalid("language_code", "must be an ISO 639 code, got %.60q", r.Language)
	}
	if t, ok := f.number("temperature", 0, 2); ok {
		r.Temperature = new(min(t, 1))
	}
	r.Keywords = f.values("keyterms")
	granularity := f.oneOf("timestamps_granularity", "none", "word", "character")
	file := f.file()
	if f.str("model_id") == "" {
		f.missing("model_id")
	}
	if f.boolean("diarize") {
		f.p.set(fail(codeUnsupported, "diarize", "speakers cannot be told apart"))
	}
	f.ignore("tag_audio_events", "num_speakers", "seed", "file_format", "enable_logging")
	if err := a.finish(c, f); err != nil {
		return err
	}
	if err := startTranscription(a.API, c, "", r, file); err != nil {
		return err
	}
	t, err := collectInTime(a.API, c, r)
	if err != nil {
		return err
	}
	c.logTokens(0, t.tokens)
	return a.writeJSON(c, 200, newVendorTranscript(t, granularity))
}

type vendorWord struct {
	Text       string       `json:"text"`
	Start      *float64     `json:"start,omitempty"`
	End        *float64     `json:"end,omitempty"`
	Type       string       `json:"type"`
	Logprob    float64      `json:"logprob"`
	Characters []vendorChar `json:"characters,omitempty"`
}

type vendorChar struct {
	Text  string  `json:"text"`
	Start float64 `json:"start"`
	End   float64 `json:"end"`
}

type vendorTranscript struct {
	LanguageCode        string       `json:"language_code"`
	LanguageProbability float64      `json:"language_probability"`
	Text                string       `json:"text"`
	Words               []vendorWord `json:"words"`
	Duration            float64      `json:"audio_duration_secs"`
}

func newVendorTranscript(t *transcript, granularity string) vendorTranscript {
	out := vendorTranscript{t.info.Language, t.info.Probability, t.text, []vendorWord{}, ms(t.info.Duration)}
	end := 0.0
	for _, s := range t.segments {
		for _, w := range s.Words {
			text := strings.TrimSpace(w.Text)
			if text == "" {
				continue
			}
			if len(out.Words) > 0 && w.Text != text {
				out.Words = append(out.Words, vendorWord{Text: " ", Start: new(ms(end)), End: new(ms(max(end, w.Start))), Type: "spacing"})
			}
			v := vendorWord{Text: text, Start: new(ms(w.Start)), End: new(ms(w.End)), Type: "word", Logprob: math.Log(max(w.Probability, 1e-9))}
			if granularity == "character" {
				var al alignment
				al.spread(text, w.Start, w.End)
				for i, ch := range al.Characters {
					v.Characters = append(v.Characters, vendorChar{ch, ms(al.Starts[i]), ms(al.Ends[i])})
				}
			}
			out.Words = append(out.Words, v)
			end = w.End
		}
	}
	if granularity == "none" {
		for i := range out.Words {
			out.Words[i].Start, out.Words[i].End = nil, nil
		}
	}
	return out
}
