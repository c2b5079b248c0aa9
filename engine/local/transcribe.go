package local

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"time"

	"quern/engine"
	"quern/engine/asr"
	"quern/formats/weights"
)

// Languages returns the codes of the languages that recognisers know.
func Languages() []string { return asr.Languages() }

// A transcriptionModel is a recogniser that is loaded.
type transcriptionModel struct {
	id        string
	model     *asr.Model
	detector  asr.Detector // nil is asr's own
	size      int64
	took      time.Duration
	admission *admission
	tokens    atomic.Int64
}

func (m *transcriptionModel) name() string      { return m.id }
func (m *transcriptionModel) bytes() int64      { return m.size + m.cacheBytes() }
func (m *transcriptionModel) cacheBytes() int64 { return m.model.CacheBytes() }
func (m *transcriptionModel) print() string     { return "" }
func (m *transcriptionModel) close()            { m.model.Close() }

func (m *transcriptionModel) stats(n *entry) engine.ModelStats {
	return engine.ModelStats{Model: m.id, Kind: n.head.kind, Running: m.admission.size(), GeneratedTokens: m.tokens.Load(),
		LoadSeconds: m.took.Seconds(), WeightBytes: m.size, CacheBytes: m.cacheBytes()}
}

// openHearing makes a recogniser resident.
func (e *Engine) openHearing(ctx context.Context, n *entry) (loaded, error) {
	start := time.Now()
	if err := e.makeRoom(ctx, n, 2*n.size); err != nil {
		return nil, err
	}
	detector, err := openDetector(n.o.Detector)
	if err != nil {
		return nil, &engine.Error{Code: engine.CodeEngineFailure, Message: fmt.Sprintf("model %q cannot be loaded: its detector of speech: %s", n.id, strings.ReplaceAll(err.Error(), n.o.Detector, "the file")), Err: err}
	}
	open := e.openWhisper
	if isONNX(n.path) {
		open = e.openWhisperONNX
	}
	m, err := open(ctx, n)
	if err != nil {
		return nil, hearingError(n, err)
	}
	e.progress(n.id, 1)
	return &transcriptionModel{id: n.id, model: m, detector: detector, size: n.size, took: time.Since(start), admission: newAdmission(n)}, nil
}

// hearingError tells clients what is wrong with a recogniser's files, but not
// where those are.
func hearingError(n *entry, err error) error {
	for _, own := range []error{asr.ErrFormat, asr.ErrUnsupported, weights.ErrFormat, weights.ErrUnsupported} {
		if errors.Is(err, own) {
			why := strings.ReplaceAll(err.Error(), n.path+": ", "")
			return &engine.Error{Code: engine.CodeEngineFailure, Message: fmt.Sprintf("model %q cannot be loaded: %s", n.id, why), Err: err}
		}
	}
	return err
}

func (e *Engine) openWhisper(ctx context.Context, n *entry) (*asr.Model, error) {
	return asr.Open(ctx, n.path, e.backend, asr.OpenOptions{Watch: e.watch(n)})
}

// Transcribe implements engine.Lease.
func (l *lease) Transcribe(ctx context.Context, r engine.TranscribeRequest) iter.Seq2[engine.Segment, error] {
	return func(yield func(engine.Segment, error) bool) {
		m, done, err := use[*transcriptionModel](l, engine.KindTranscription, r.KeepAlive)
		if err != nil {
			yield(engine.Segment{}, err)
			return
		}
		defer done()
		if err := m.admission.enter(m.id, 5*time.Second); err != nil {
			yield(engine.Segment{}, err)
			return
		}
		defer m.admission.leave()
		if r.Translate && !m.model.Translates() {
			yield(engine.Segment{}, engine.Errorf(engine.CodeModelNotSupported, "model", "model %q does not translate; use one for several languages that was trained to", m.id))
			return
		}
		o := r.TranscribeOptions
		if o.Detector == nil {
			o.Detector = m.detector
		}
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
				if errors.Is(err, asr.ErrOptions) {
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
	}
}
