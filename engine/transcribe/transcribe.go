// Package transcribe transcribes speech with a recogniser that is loaded.
package transcribe

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"time"

	"quern/engine"
	"quern/engine/asr"
	"quern/engine/asr/audio"
	"quern/engine/asr/conformer"
	"quern/engine/asr/diarize"
	"quern/engine/asr/heard"
	"quern/engine/asr/vad"
	"quern/engine/budget"
)

// A Recogniser transcribes speech: package asr's or another. Errors of options wrap
// asr.ErrOptions; those that name the option are *asr.OptionError.
type Recogniser interface {
	Transcribe(ctx context.Context, src audio.Source, o asr.Options) iter.Seq2[asr.Segment, error]
	Translates() bool
	TimesWords() bool
	CacheBytes() int64
	Close() error
}

// A Model is a recogniser that is loaded.
type Model struct {
	id     string
	model  Recogniser
	aids   Aids
	size   int64
	queue  budget.Queue
	took   time.Duration
	tokens atomic.Int64
}

// Aids are the networks beside a recogniser.
type Aids struct {
	Detector vad.Detector   // nil is asr's own
	Speakers *diarize.Model // nil: no diarization
}

// Close releases them.
func (a *Aids) Close() {
	if a.Speakers != nil {
		a.Speakers.Close() // files that were only read
	}
}

// New makes a model of a recogniser whose files have size bytes. It admits that many
// requests, those that wait included, and took so long to load.
func New(id string, m Recogniser, a Aids, size int64, admits int, took time.Duration) *Model {
	if a.Speakers != nil {
		size += a.Speakers.Bytes()
	}
	return &Model{id: id, model: m, aids: a, size: size, queue: budget.Queue{Most: admits}, took: took}
}

// Bytes is the memory the model occupies.
func (m *Model) Bytes() int64 { return m.size + m.model.CacheBytes() }

// Close releases the recogniser and its Aids.
func (m *Model) Close() {
	m.model.Close()
	m.aids.Close()
}

// Stats is a snapshot of the counters.
func (m *Model) Stats() engine.ModelStats {
	return engine.ModelStats{Model: m.id, Running: m.queue.Len(), GeneratedTokens: m.tokens.Load(),
		LoadSeconds: m.took.Seconds(), WeightBytes: m.size, CacheBytes: m.model.CacheBytes()}
}

// Languages returns the codes of the languages that recognisers have.
func Languages() []string { return heard.Languages() }

// A Conformer is the description of a Parakeet or Canary in its files.
type Conformer = conformer.Info

// IsConformer reports whether path is a Parakeet or Canary, or one of its files.
func IsConformer(path string) bool { return conformer.IsModel(path) }

// Describe reads the description of a Parakeet or Canary from its files.
func Describe(path string) (*Conformer, error) { return conformer.Describe(path) }

// OpenDetector reads a detector of speech, Silero's. Of path "" it is nil, which
// recognition takes for the built-in one.
func OpenDetector(path string) (vad.Detector, error) {
	if path == "" {
		return nil, nil
	}
	d, err := vad.OpenSilero(path)
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Transcribe transcribes the speech of the source, segment by segment.
func (m *Model) Transcribe(ctx context.Context, r engine.TranscribeRequest) iter.Seq2[engine.Segment, error] {
	return func(yield func(engine.Segment, error) bool) {
		if err := m.queue.Enter(m.id, 5*time.Second); err != nil {
			yield(engine.Segment{}, err)
			return
		}
		defer m.queue.Leave()
		if r.Translate && !m.model.Translates() {
			yield(engine.Segment{}, engine.Errorf(engine.CodeModelNotSupported, "model", "model %q does not translate; use one for several languages that was trained to", m.id))
			return
		}
		o := r.TranscribeOptions
		if o.Detector == nil {
			o.Detector = m.aids.Detector
		}
		var listener *diarize.Listener
		var who *tapped
		if r.Diarize != nil {
			if m.aids.Speakers == nil {
				yield(engine.Segment{}, CannotTell(m.id))
				return
			}
			listener = m.aids.Speakers.Listen(r.Diarize.SpeakerOptions)
			who = &tapped{Source: r.Source, each: func(x []float32) error { return listener.Hear(ctx, x) }}
			r.Source = who
			o.Words, o.Pauses = o.Words || m.model.TimesWords(), !m.model.TimesWords()
		}
		o.Words = o.Words || r.MayWords && m.model.TimesWords()
		if r.AllSound {
			o.Without |= asr.GuardVAD
		}
		if r.Temperature != nil && *r.Temperature > 0 {
			o.Temperatures = nil
			for t := *r.Temperature; t <= 1; t += 0.2 {
				o.Temperatures = append(o.Temperatures, t)
			}
		}
		for s, err := range m.model.Transcribe(ctx, r.Source, o) {
			if err != nil {
				if named, ok := errors.AsType[*asr.OptionError](err); ok {
					err = engine.Errorf(engine.CodeUnsupportedParam, named.Name, "model %q: %s", m.id, named.Message)
				} else if errors.Is(err, asr.ErrOptions) {
					err = engine.Errorf(engine.CodeInvalidValue, "", "%v", err)
				}
				yield(engine.Segment{}, err)
				return
			}
			m.tokens.Add(int64(len(s.Tokens)))
			if !yield(s, nil) {
				return
			}
		}
		if who != nil {
			err := who.rest(ctx)
			if err == nil {
				var found *engine.Speakers
				if found, err = listener.Finish(ctx); err == nil {
					r.Diarize.Speakers = *found
				}
			}
			if err != nil {
				yield(engine.Segment{}, err)
			}
		}
	}
}
