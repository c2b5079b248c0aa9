package httpapi

import (
	"context"
	"slices"
	"strings"

	"quern/engine"
)

// transcriptions answers POST /v1/audio/transcriptions.
func (a openaiAPI) transcriptions(c *call) error {
	return a.transcribe(c, func(f *form, r *transcription) {
		r.Language = f.str("language")
		if strings.EqualFold(r.Language, "auto") {
			r.Language = ""
		}
		if r.Language != "" && engine.LanguageName(r.Language) == "" {
			f.invalid("language", "must be an ISO 639-1 code, an English name or auto, got %.60q", r.Language)
		}
		r.stream = f.boolean("stream")
		granularities := f.values("timestamp_granularities")
		for _, g := range granularities {
			if g != "word" && g != "segment" {
				f.invalid("timestamp_granularities", "must be word or segment, got %.60q", g)
			}
		}
		if r.format == "verbose_json" {
			r.words = slices.Contains(granularities, "word")
			r.segments = !r.words || slices.Contains(granularities, "segment")
		}
		for _, include := range f.values("include") {
			if include != "logprobs" {
				f.invalid("include", "must be logprobs, got %.60q", include)
			} else if r.format != "json" {
				f.p.set(fail(codeUnsupported, "include", "logprobs come with response_format json"))
			}
			r.Logprobs = true
		}
		r.keywords(f)
		r.chunking(f)
		f.ignore("languages", "known_speaker_names", "known_speaker_references")
	})
}

// translations answers POST /v1/audio/translations.
func (a openaiAPI) translations(c *call) error {
	return a.transcribe(c, func(f *form, r *transcription) {
		r.Translate, r.segments = true, true
		if f.str("language") != "" {
			f.p.set(fail(codeUnsupported, "language", "a translation is always to English; the language spoken is found out"))
		}
	})
}

// transcribe reads what both endpoints have in common, then what own reads, and
// answers.
func (a openaiAPI) transcribe(c *call, own func(*form, *transcription)) error {
	f, err := a.readForm(c)
	if err != nil {
		return err
	}
	defer f.close()
	r := &transcription{}
	model := f.str("model")
	if model == "" {
		f.missing("model")
	}
	file := f.file()
	r.Prompt = f.str("prompt")
	for _, name := range []string{"vad", "vad_filter"} {
		r.AllSound = f.off(name) || r.AllSound
	}
	r.guards(f)
	r.decoding(f)
	if r.format = f.str("response_format"); r.format == "diarized_json" {
		f.p.set(fail(codeUnsupported, "response_format", "speakers cannot be told apart; ask for verbose_json"))
	} else if r.format = f.oneOf("response_format", "json", "text", "srt", "verbose_json", "vtt"); r.format == "" {
		r.format = "json"
	}
	if t, ok := f.number("temperature", 0, 1); ok {
		r.Temperature = &t
	}
	own(f, r)
	if err := a.finish(c, f); err != nil {
		return err
	}
	if err := startTranscription(a.API, c, model, r, file); err != nil {
		return err
	}
	r.Words = r.words || r.SkipSilence > 0
	if r.stream {
		return a.streamTranscription(c, r)
	}
	t, err := collectInTime(a.API, c, r)
	if err != nil {
		return err
	}
	c.logTokens(0, t.tokens)
	return a.writeTranscript(c, r, t)
}

func (a openaiAPI) writeTranscript(c *call, r *transcription, t *transcript) error {
	usage := durationUsage{"duration", ms(t.info.Duration)}
	switch r.format {
	case "text":
		return a.writeAs(c, "text/plain; charset=utf-8", []byte(t.text+"\n"))
	case "srt":
		return a.writeAs(c, "text/plain; charset=utf-8", []byte(SRT(t.segments)))
	case "vtt":
		return a.writeAs(c, "text/vtt; charset=utf-8", []byte(VTT(t.segments)))
	case "verbose_json":
		return a.writeJSON(c, 200, t.verbose(r.Translate, r.segments, r.words))
	}
	type plain struct {
		Text     string          `json:"text"`
		Logprobs *[]heardLogprob `json:"logprobs,omitempty"`
		Usage    durationUsage   `json:"usage"`
	}
	p := plain{Text: t.text, Usage: usage}
	if r.Logprobs {
		p.Logprobs = new(t.logprobs())
	}
	return a.writeJSON(c, 200, p)
}

// streamTranscription sends every segment as soon as it is final. The deltas
// joined are the text.
func (a openaiAPI) streamTranscription(c *call, r *transcription) error {
	type place struct {
		ID    int     `json:"id"`
		Start float64 `json:"start"`
		End   float64 `json:"end"`
	}
	type delta struct {
		Type    string `json:"type"`
		Delta   string `json:"delta"`
		Segment place  `json:"segment"`
	}
	type done struct {
		Type     string           `json:"type"`
		Text     string           `json:"text"`
		Language string           `json:"language"`
		Duration float64          `json:"duration"`
		Segments *[]segmentObject `json:"segments,omitempty"`
		Words    *[]wordObject    `json:"words,omitempty"`
	}
	var t *transcript
	s := a.NewStream(c, ServerEvents)
	err := StreamWork(a.API, c, s, s.Event, func(ctx context.Context, send func(any) error) (err error) {
		first := true
		r.each = func(seg engine.Segment) error {
			text := seg.Text
			if first {
				text = strings.TrimLeft(text, " ")
				first = false
			}
			return send(delta{"transcript.text.delta", text, place{seg.ID, ms(seg.Start), ms(seg.End)}})
		}
		if t, err = collect(ctx, a.API, r); err != nil {
			return err
		}
		end := done{"transcript.text.done", t.text, engine.LanguageName(t.info.Language), ms(t.info.Duration), nil, nil}
		if r.segments {
			end.Segments = new(t.segmentObjects())
		}
		if r.words {
			end.Words = new(t.wordObjects())
		}
		return send(end)
	})
	if t != nil {
		c.logTokens(0, t.tokens)
	}
	return err
}
