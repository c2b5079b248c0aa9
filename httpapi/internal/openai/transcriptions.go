package openai

import (
	"context"
	"strings"

	"quern/engine"
	"quern/httpapi/internal/audio"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/server"
	"quern/httpapi/internal/stream"
	"quern/httpapi/transcript"
)

// A transcription is a body of either endpoint, checked.
type transcription struct {
	engine.TranscribeRequest
	format          string
	words, segments bool // of verbose_json
	streamed, live  bool
	speakers        string // the field that asks for speakers; "" where none does
}

// transcriptions answers POST /v1/audio/transcriptions.
func (a api) transcriptions(c *server.Call) error { return a.transcribe(c, &transcription{}) }

// translations answers POST /v1/audio/translations, which are to English. The language is
// that spoken.
func (a api) translations(c *server.Call) error {
	r := &transcription{}
	r.Translate = true
	return a.transcribe(c, r)
}

// transcribe reads the fields of a form and answers.
func (a api) transcribe(c *server.Call, r *transcription) error {
	f, err := a.ReadComingForm(c, early(c), "languages")
	if err != nil {
		return err
	}
	defer f.Close()
	model := f.Str("model")
	if model == "" {
		f.Missing("model")
	}
	file, layout := f.File(), audio.ReadLayout(f)
	r.read(c, f)
	if err := a.Finish(c, f); err != nil {
		return err
	}
	if err := audio.StartTranscription(a.API, c, model, &r.TranscribeRequest, file, layout); err != nil {
		if f.Coming() {
			err = a.ComingError(c, err)
		}
		return err
	}
	if err := audio.CheckDiarize(c, r.Diarize, r.speakers); err != nil {
		return err
	}
	r.Words = r.words || r.SkipSilence > 0 || r.format == whisperX
	if r.streamed {
		return a.streamTranscription(c, f, r)
	}
	t, err := audio.CollectInTime(a.API, c, r.TranscribeRequest)
	if err != nil {
		return r.named(err)
	}
	return a.writeTranscript(c, r, t)
}

func (a api) writeTranscript(c *server.Call, r *transcription, t *transcript.Transcript) error {
	switch r.format {
	case "text":
		return a.Write(c, 200, "text/plain; charset=utf-8", []byte(t.Text+"\n"))
	case "srt":
		return a.Write(c, 200, "text/plain; charset=utf-8", []byte(transcript.SRT(t.Spoken())))
	case "vtt":
		return a.Write(c, 200, "text/vtt; charset=utf-8", []byte(transcript.VTT(t.Spoken())))
	case diarizedJSON:
		d := t.Diarized()
		if r.Translate {
			d.Task = "translate"
		}
		return a.WriteJSON(c, 200, d)
	case whisperX:
		return a.WriteJSON(c, 200, t.WhisperX())
	case "verbose_json":
		return a.WriteJSON(c, 200, t.Verbose(r.Translate, r.segments, r.words))
	}
	type plain struct {
		Text     string                     `json:"text"`
		Logprobs *[]transcript.HeardLogprob `json:"logprobs,omitempty"`
		Usage    transcript.DurationUsage   `json:"usage"`
		Warnings []string                   `json:"warnings,omitempty"`
	}
	return a.WriteJSON(c, 200, plain{t.Text, r.logprobs(t.Segments...), t.Usage(), t.Warnings})
}

// named is an error with the field by which words were asked for.
func (r *transcription) named(err error) error {
	switch {
	case r.format == whisperX:
		return audio.AskedBy("response_format", err)
	case r.words:
		return audio.AskedBy("timestamp_granularities", err)
	}
	return audio.AskedBy("hallucination_silence_threshold", err)
}

// logprobs are the tokens of segments, where they were asked for.
func (r *transcription) logprobs(list ...engine.Segment) *[]transcript.HeardLogprob {
	if !r.Logprobs {
		return nil
	}
	return new(transcript.Logprobs(list...))
}

// streamTranscription sends every segment as soon as it is final. The deltas
// joined are the text. The speakers are known when the sound ends, as the first event
// says: a segment for each speaker's part comes before the last event.
func (a api) streamTranscription(c *server.Call, f *body.Form, r *transcription) error {
	type place struct {
		ID    int     `json:"id"`
		Start float64 `json:"start"`
		End   float64 `json:"end"`
	}
	type delta struct {
		Type     string                     `json:"type"`
		Delta    string                     `json:"delta"`
		Logprobs *[]transcript.HeardLogprob `json:"logprobs,omitempty"`
		Segment  *place                     `json:"segment,omitempty"`
		Speakers string                     `json:"speakers,omitempty"`
	}
	type done struct {
		Type     string                      `json:"type"`
		Text     string                      `json:"text"`
		Language string                      `json:"language"`
		Duration float64                     `json:"duration"`
		Logprobs *[]transcript.HeardLogprob  `json:"logprobs,omitempty"`
		Segments *[]transcript.SegmentObject `json:"segments,omitempty"`
		Words    *[]transcript.WordObject    `json:"words,omitempty"`
		Warnings []string                    `json:"warnings,omitempty"`
	}
	switch r.format { // whose lines the last event can be made into
	case whisperX:
		r.segments, r.words = true, true
	case "srt", "vtt":
		r.segments = true
	}
	s := a.NewStream(c, stream.ServerEvents)
	return server.StreamWork(a.API, c, s, s.Event, func(ctx context.Context, send func(any) error) error {
		first := true
		begin := func() error {
			if !first || r.Diarize == nil {
				return nil
			}
			return send(delta{Type: "transcript.text.delta", Speakers: "when the sound ends"})
		}
		t, err := a.collect(ctx, c, f, r, func(seg engine.Segment) error {
			text := seg.Text
			if err := begin(); err != nil {
				return err
			}
			if first {
				text = strings.TrimLeft(text, " ")
				first = false
			}
			return send(delta{Type: "transcript.text.delta", Delta: text, Logprobs: r.logprobs(seg), Segment: &place{seg.ID, transcript.Round(seg.Start), transcript.Round(seg.End)}})
		})
		if err != nil {
			return r.named(err)
		}
		if err := begin(); err != nil {
			return err
		}
		if r.Diarize != nil {
			for _, s := range t.Diarized().Segments {
				if err := send(s); err != nil {
					return err
				}
			}
		}
		end := done{"transcript.text.done", t.Text, engine.LanguageName(t.Language(r.Translate)), transcript.Round(t.Info.Duration), r.logprobs(t.Segments...), nil, nil, t.Warnings}
		if r.segments {
			end.Segments = new(t.SegmentObjects())
		}
		if r.words {
			end.Words = new(t.WordObjects())
		}
		return send(end)
	})
}
