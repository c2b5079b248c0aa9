package httpapi

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strings"

	"quern/codecs"
	"quern/engine"
)

// A transcription is what a request asks for.
type transcription struct {
	engine.TranscribeRequest
	lease    engine.Lease // of the model
	format   string
	words    bool
	segments bool
	stream   bool
	each     func(engine.Segment) error // hears of segments as they come; may be nil
}

// transcriptions answers POST /v1/audio/transcriptions.
func (a *API) transcriptions(c *call) error {
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
func (a *API) translations(c *call) error {
	return a.transcribe(c, func(f *form, r *transcription) {
		r.Translate, r.segments = true, true
		if f.str("language") != "" {
			f.p.set(fail(codeUnsupported, "language", "a translation is always to English; the language spoken is found out"))
		}
	})
}

// transcribe reads what both endpoints have in common, then what own reads, and
// answers.
func (a *API) transcribe(c *call, own func(*form, *transcription)) error {
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
	if err := a.startTranscription(c, model, r, file); err != nil {
		return err
	}
	r.Words = r.words || r.SkipSilence > 0
	if r.stream {
		return a.streamTranscription(c, r)
	}
	t, err := inTime(a, c, a.collect, r)
	if err != nil {
		return err
	}
	logTally(c, c.model(), &tally{output: t.tokens})
	return a.writeTranscript(c, r, t)
}

// startTranscription makes the model ready and finds out what the upload is.
func (a *API) startTranscription(c *call, model string, r *transcription, file io.Reader) error {
	if _, err := a.prepare(c, model, engine.KindTranscription); err != nil {
		return err
	}
	r.lease = c.lease
	var err error
	r.Source, err = openSound(file)
	return err
}

// hearingRate is what recognisers listen at, in Hz.
const hearingRate = 16000

// openSound finds out what an upload is.
func openSound(r io.Reader) (engine.Source, error) {
	s, err := codecs.Open(r, codecs.Options{})
	if err != nil {
		return nil, soundError(err)
	}
	m, err := codecs.NewMono(s, hearingRate)
	if err != nil {
		return nil, soundError(err)
	}
	return m, nil
}

// soundError says what was found where audio should be.
func soundError(err error) error {
	var e *codecs.Error
	if !errors.As(err, &e) {
		return err
	}
	return fail(codeUnsupportedAudio, "file", "the file cannot be decoded: %v", e)
}

// A transcript is a finished transcription.
type transcript struct {
	text     string
	segments []engine.Segment
	tokens   int
	info     engine.TranscribeInfo
}

// collect transcribes.
func (a *API) collect(ctx context.Context, r *transcription) (*transcript, error) {
	t := &transcript{}
	r.Info = &t.info
	defer func() { a.metrics.heard(audioIn, t.info.Duration) }() // also what was heard before it failed
	var text strings.Builder
	for s, err := range r.lease.Transcribe(ctx, r.TranscribeRequest) {
		if err != nil {
			return nil, classify(ctx, soundError(err))
		}
		text.WriteString(s.Text)
		t.segments = append(t.segments, s)
		t.tokens += len(s.Tokens)
		if r.each != nil {
			if err := r.each(s); err != nil {
				return nil, err
			}
		}
	}
	t.text = strings.TrimSpace(text.String())
	return t, nil
}

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

func (a *API) writeTranscript(c *call, r *transcription, t *transcript) error {
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
func (a *API) streamTranscription(c *call, r *transcription) error {
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
	s := a.newStream(c, serverEvents)
	err := streamWork(a, c, s, s.event, func(ctx context.Context, send func(any) error) (err error) {
		first := true
		r.each = func(seg engine.Segment) error {
			text := seg.Text
			if first {
				text = strings.TrimLeft(text, " ")
				first = false
			}
			return send(delta{"transcript.text.delta", text, place{seg.ID, ms(seg.Start), ms(seg.End)}})
		}
		if t, err = a.collect(ctx, r); err != nil {
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
		logTally(c, c.model(), &tally{output: t.tokens})
	}
	return err
}

// vendorTranscription answers POST /v1/speech-to-text in ElevenLabs' shape. Their
// model names mean the default recogniser.
func (a *API) vendorTranscription(c *call) error {
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
	if err := a.startTranscription(c, "", r, file); err != nil {
		return err
	}
	t, err := inTime(a, c, a.collect, r)
	if err != nil {
		return err
	}
	logTally(c, c.model(), &tally{output: t.tokens})
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
