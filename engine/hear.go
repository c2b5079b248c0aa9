package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"quern/engine/asr"
	"quern/formats/ggml"
	"quern/formats/weights"
)

// isWhisper reports whether path is a model of OpenAI's recogniser: a directory
// of Hugging Face's, or a file of whisper.cpp's.
func isWhisper(path string) bool {
	st, err := os.Stat(path)
	if err != nil {
		return false
	}
	if st.IsDir() {
		data, err := os.ReadFile(filepath.Join(path, "config.json"))
		var config struct {
			Type string `json:"model_type"`
		}
		return err == nil && json.Unmarshal(data, &config) == nil && config.Type == "whisper"
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, len(ggml.Magic))
	_, err = io.ReadFull(f, head)
	return err == nil && string(head) == ggml.Magic
}

// What a transcription gives and takes; package asr explains the fields.
type (
	// A Source delivers 16 kHz mono samples: Read returns how many, then io.EOF.
	Source = asr.Source
	// A Segment is a piece of transcript.
	Segment = asr.Segment
	// TranscribeInfo is what is known of the audio as a whole.
	TranscribeInfo = asr.Info
	// SpeechOptions say what counts as speech.
	SpeechOptions = asr.SpeechOptions
	// A Guard is a measure against text that nobody spoke.
	Guard = asr.Guard
)

// GuardNames are the names of guards; "all" is all of them.
func GuardNames() []string { return asr.GuardNames() }

// GuardNamed returns the guard of a name.
func GuardNamed(name string) (Guard, bool) { return asr.GuardNamed(name) }

// LanguageName returns the English name of a language given by its code or its
// name, or "" for what is neither.
func LanguageName(s string) string { return asr.LanguageName(asr.LanguageCode(s)) }

// A TranscribeRequest is audio to be written down.
type TranscribeRequest struct {
	Model  string
	Source Source

	Language    string // code or English name; "" is found out
	Translate   bool   // to English
	Prompt      string // text before, for names and style
	Keywords    []string
	Temperature *float64 // above 0: the first of the ladder
	Words       bool     // times of words
	AllSound    bool     // also what no detector takes for speech
	Logprobs    bool

	Chunked     bool // decode pieces between silences side by side
	Speech      SpeechOptions
	Without     Guard   // guards that are off
	SkipSilence float64 // seconds around which words alone are not believed; needs Words

	Info      *TranscribeInfo // filled in while segments come; may be nil
	KeepAlive *time.Duration
}

// A hearingModel is a recogniser that is loaded.
type hearingModel struct {
	id     string
	model  *asr.Model
	size   int64
	took   time.Duration
	active atomic.Int64
	most   int64
	tokens atomic.Int64
}

func (m *hearingModel) name() string      { return m.id }
func (m *hearingModel) bytes() int64      { return m.size + m.cacheBytes() }
func (m *hearingModel) cacheBytes() int64 { return m.model.CacheBytes() }
func (m *hearingModel) print() string     { return "" }
func (m *hearingModel) close()            { m.model.Close() }

func (m *hearingModel) stats(n *entry) ModelStats {
	return ModelStats{Model: m.id, Kind: n.head.kind, Running: int(m.active.Load()), GeneratedTokens: m.tokens.Load(),
		LoadSeconds: m.took.Seconds(), WeightBytes: m.size, CacheBytes: m.cacheBytes()}
}

// openHearing makes a recogniser resident.
func (e *Engine) openHearing(n *entry) (loaded, error) {
	start := time.Now()
	if err := e.makeRoom(n.id, 2*n.size); err != nil {
		return nil, err
	}
	open := e.openWhisper
	if isONNX(n.path) {
		open = e.openWhisperONNX
	}
	m, err := open(n.path)
	if err != nil {
		return nil, hearingError(n, err)
	}
	e.progress(n.id, 1)
	return &hearingModel{id: n.id, model: m, size: n.size, took: time.Since(start), most: mostRequests(&n.o)}, nil
}

// hearingError tells clients what is wrong with a recogniser's files, but not
// where those are.
func hearingError(n *entry, err error) error {
	for _, own := range []error{asr.ErrFormat, asr.ErrUnsupported, weights.ErrFormat, weights.ErrUnsupported} {
		if errors.Is(err, own) {
			why := strings.ReplaceAll(err.Error(), n.path+": ", "")
			return &Error{Code: CodeEngineFailure, Message: fmt.Sprintf("model %q cannot be loaded: %s", n.id, why), Err: err}
		}
	}
	return err
}

func (e *Engine) openWhisper(path string) (*asr.Model, error) {
	return asr.Open(path, e.backend, asr.OpenOptions{})
}

// Transcribe writes audio down, segment by segment as they are final. Leaving
// the loop or ending ctx stops it within one layer of the network.
func (e *Engine) Transcribe(ctx context.Context, r TranscribeRequest) iter.Seq2[Segment, error] {
	return func(yield func(Segment, error) bool) {
		m, release, err := acquire[*hearingModel](ctx, e, r.Model, KindTranscription)
		if err != nil {
			yield(Segment{}, err)
			return
		}
		defer release()
		e.setKeepAlive(m, r.KeepAlive)
		if m.active.Add(1) > m.most {
			m.active.Add(-1)
			yield(Segment{}, &Error{Code: CodeQueueFull, RetryAfter: 5 * time.Second,
				Message: fmt.Sprintf("model %q has %d requests waiting, as many as queue allows; try again later", m.id, m.most-1)})
			return
		}
		defer m.active.Add(-1)
		if r.Translate && !m.model.Translates() {
			yield(Segment{}, errorf(CodeModelNotSupported, "model", "model %q does not translate; use one for several languages that was trained to", m.id))
			return
		}
		o := asr.Options{
			Language: r.Language, Translate: r.Translate, Prompt: r.Prompt, Keywords: r.Keywords, Words: r.Words, Logprobs: r.Logprobs,
			Chunked: r.Chunked, Speech: r.Speech, Without: r.Without, SkipSilence: r.SkipSilence, Info: r.Info,
		}
		if r.AllSound {
			o.Without |= asr.GuardVAD
		}
		if r.Temperature != nil && *r.Temperature > 0 {
			for t := *r.Temperature; t <= 1; t += 0.2 {
				o.Temperatures = append(o.Temperatures, t)
			}
		}
		for s, err := range m.model.Transcribe(ctx, r.Source, o) {
			if err != nil {
				if errors.Is(err, asr.ErrOptions) {
					err = errorf(CodeInvalidValue, "", "%v", err)
				}
				yield(Segment{}, err)
				return
			}
			m.tokens.Add(int64(len(s.Tokens)))
			if !yield(s, nil) {
				return
			}
		}
	}
}
