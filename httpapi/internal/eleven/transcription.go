package eleven

import (
	"fmt"
	"math"
	"strings"

	"quern/engine"
	"quern/httpapi/internal/audio"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/server"
	"quern/httpapi/transcript"
)

// vendorTranscription answers POST /v1/speech-to-text in ElevenLabs' shape.
func (a api) vendorTranscription(c *server.Call) error {
	f, err := a.ReadForm(c, "enable_logging", "webhook_id", "webhook_metadata", "multi_channel_output_style", "entity_redaction_mode")
	if err != nil {
		return err
	}
	defer f.Close()
	refuseUnheard(f)
	if f.Boolean("tag_audio_events") {
		c.Warn("tag_audio_events has no effect: the recognisers here write down words only")
	}
	r := engine.TranscribeRequest{}
	r.Language = f.Str("language_code")
	if r.Language != "" && engine.LanguageName(r.Language) == "" {
		f.Invalid("language_code", "must be an ISO 639 code, got %.60q", r.Language)
	}
	if t, ok := f.Number("temperature", 0, 2); ok {
		r.Temperature = new(min(t, 1))
	}
	r.Seed = audio.Seed(f)
	r.Keywords = f.Values("keyterms")
	granularity := f.OneOf("timestamps_granularity", "none", "word", "character")
	r.Words, r.MayWords = granularity != "none", true
	file, layout := f.File(), audio.ReadLayout(f)
	named := f.Str("model_id")
	if named == "" {
		f.Missing("model_id")
	}
	readSpeakers(c, f, &r)
	if err := a.Finish(c, f); err != nil {
		return err
	}
	if err := audio.StartTranscription(a.API, c, a.Ours(named, engine.KindTranscription), &r, file, layout); err != nil {
		return err
	}
	if err := audio.CheckDiarize(c, r.Diarize, "diarize"); err != nil {
		return err
	}
	t, err := audio.CollectInTime(a.API, c, r)
	if err != nil {
		return audio.AskedBy("timestamps_granularity", err)
	}
	return a.WriteJSON(c, 200, newVendorTranscript(t, granularity))
}

// unheard are fields that are not supported here, and why.
var unheard = []struct{ name, why string }{
	{"cloud_storage_url", "nothing is fetched; send the file"},
	{"source_url", "nothing is fetched; send the file"},
	{"webhook", "the answer itself has the transcript; leave it out"},
	{"use_multi_channel", "channels are mixed to one; send each as a file of its own"},
	{"additional_formats", "ask /v1/audio/transcriptions for text, srt or vtt"},
	{"entity_detection", "leave it out"},
	{"entity_redaction", "leave it out"},
	{"no_verbatim", "what is said is written down; leave it out"},
	{"detect_speaker_roles", "speakers are told apart by diarize, without roles"},
}

// refuseUnheard refuses these fields, unless their value switches them off.
func refuseUnheard(f *body.Form) {
	for _, u := range unheard {
		if f.Asks(u.name) {
			f.Refuse(engine.CodeUnsupportedParam, u.name, "%s is not supported: %s", u.name, u.why)
		}
	}
}

type vendorWord struct {
	Text       string       `json:"text"`
	Start      *float64     `json:"start,omitempty"`
	End        *float64     `json:"end,omitempty"`
	Type       string       `json:"type"`
	Speaker    string       `json:"speaker_id,omitempty"`
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
	Warnings            []string     `json:"warnings,omitempty"`
}

func newVendorTranscript(t *transcript.Transcript, granularity string) vendorTranscript {
	out := vendorTranscript{t.Info.Language, t.Info.Probability, t.Text, []vendorWord{}, transcript.Round(t.Info.Duration), t.Warnings}
	end, speaker := 0.0, ""
	for _, s := range t.Segments {
		for _, w := range spoken(s) {
			text := strings.TrimSpace(w.Text)
			if text == "" {
				continue
			}
			if len(out.Words) > 0 && w.Text != text {
				out.Words = append(out.Words, vendorWord{Text: " ", Start: new(transcript.Round(end)), End: new(transcript.Round(max(end, w.Start))), Type: "spacing", Speaker: speaker})
			}
			speaker = t.Name(w.Speaker, speakerID)
			v := vendorWord{Text: text, Start: new(transcript.Round(w.Start)), End: new(transcript.Round(w.End)), Type: "word", Speaker: speaker, Logprob: math.Log(max(w.Probability, 1e-9))}
			if granularity == "character" {
				var al alignment
				al.spread(text, w.Start, w.End)
				for i, ch := range al.Characters {
					v.Characters = append(v.Characters, vendorChar{ch, transcript.Round(al.Starts[i]), transcript.Round(al.Ends[i])})
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

// spoken are the words of a segment. Those of a model that does not time them have the
// segment's times, probability and speaker.
func spoken(s engine.Segment) []engine.Word {
	if len(s.Words) > 0 {
		return s.Words
	}
	var list []engine.Word
	for text := range strings.FieldsSeq(s.Text) {
		list = append(list, engine.Word{Text: " " + text, Start: s.Start, End: s.End, Probability: math.Exp(s.AvgLogprob), Speaker: s.Speaker})
	}
	return list
}

// usualThreshold is the default of diarization_threshold, which stands for
// the published distance.
const usualThreshold = 0.22

// readSpeakers reads whether speakers are asked for. Their number is at most num_speakers; a
// higher diarization_threshold makes fewer.
func readSpeakers(c *server.Call, f *body.Form, r *engine.TranscribeRequest) {
	wanted := f.Boolean("diarize")
	most := audio.Count(f, "num_speakers")
	threshold, given := f.Number("diarization_threshold", 0.1, 0.4)
	switch {
	case given && !wanted:
		f.Invalid("diarization_threshold", "needs diarize")
	case given && most > 0:
		f.Invalid("diarization_threshold", "cannot be given with num_speakers")
	}
	if !wanted {
		audio.Unasked(c, f, "num_speakers")
	} else {
		r.Diarize = &engine.Diarization{}
		r.Diarize.Max, r.Diarize.Threshold = most, threshold/usualThreshold
	}
}

// speakerID is the id of a speaker.
func speakerID(i int) string { return fmt.Sprintf("speaker_%d", i) }
