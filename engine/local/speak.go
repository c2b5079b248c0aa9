package local

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"quern/engine"
	"quern/engine/tts"
)

// A speechModel is a synthesiser that is loaded.
type speechModel struct {
	id        string
	synth     tts.Synth
	reader    func() (*tts.Pronouncer, error)
	took      time.Duration
	admission *admission
	spoken    atomic.Int64 // symbols
}

func (m *speechModel) name() string      { return m.id }
func (m *speechModel) bytes() int64      { return m.synth.Bytes() }
func (m *speechModel) cacheBytes() int64 { return 0 }
func (m *speechModel) print() string     { return "" }
func (m *speechModel) close()            {}

func (m *speechModel) stats(n *entry) engine.ModelStats {
	return engine.ModelStats{Model: m.id, Kind: n.head.kind, Running: m.admission.size(), GeneratedTokens: m.spoken.Load(),
		LoadSeconds: m.took.Seconds(), WeightBytes: m.bytes()}
}

// dictionaries are the files of larger pronunciation dictionaries that may lie
// beside a model.
var dictionaries = []string{"us_gold.json", "us_silver.json", "gb_gold.json", "gb_silver.json"}

// openSpeech makes a synthesiser resident.
func (e *Engine) openSpeech(ctx context.Context, n *entry) (loaded, error) {
	start := time.Now()
	m := &speechModel{id: n.id, admission: newAdmission(n), reader: e.pronouncer}
	if n.path == "" {
		m.synth = tts.Formant()
		return m, nil
	}
	// Weights are read as float32 whatever the file's type.
	if err := e.makeRoom(ctx, n, 2*n.size); err != nil {
		return nil, err
	}
	var err error
	if m.synth, err = tts.OpenKokoro(n.path, e.backend); err != nil {
		return nil, err
	}
	if dir := dictionaryDir(n.path); dir != nil {
		m.reader = sync.OnceValues(func() (*tts.Pronouncer, error) { return tts.NewPronouncer(dir) })
	}
	m.took = time.Since(start)
	e.progress(n.id, 1)
	return m, nil
}

// dictionaryDir returns the folder of a model if dictionaries lie in it.
func dictionaryDir(path string) fs.FS {
	if st, err := os.Stat(path); err == nil && !st.IsDir() {
		path = filepath.Dir(path)
	}
	for _, d := range dictionaries {
		if _, err := os.Stat(filepath.Join(path, d)); err == nil {
			return os.DirFS(path)
		}
	}
	return nil
}

// Speak implements engine.Lease.
func (l *lease) Speak(ctx context.Context, r engine.SpeakRequest) iter.Seq2[engine.Speech, error] {
	return func(yield func(engine.Speech, error) bool) {
		m, done, err := use[*speechModel](l, engine.KindSpeech, r.KeepAlive)
		if err != nil {
			yield(engine.Speech{}, err)
			return
		}
		defer done()
		if err := m.admission.enter(m.id, 2*time.Second); err != nil {
			yield(engine.Speech{}, err)
			return
		}
		defer m.admission.leave()
		reader, err := m.reader()
		if err != nil {
			yield(engine.Speech{}, err)
			return
		}
		if r.Speed == 0 {
			r.Speed = 1
		}
		for c, err := range tts.Speak(ctx, m.synth, reader, tts.Request{Text: r.Text, Voice: l.e.voiceOf(r.Voice), Speed: r.Speed, Seed: r.Seed, Language: r.Language}) {
			if err != nil {
				yield(engine.Speech{}, m.failure(err))
				return
			}
			m.spoken.Add(int64(c.Symbols))
			if !yield(engine.Speech{Chunk: c, Rate: m.synth.Rate()}, nil) {
				return
			}
		}
	}
}

func (m *speechModel) failure(err error) error {
	switch {
	case errors.Is(err, tts.ErrLanguage):
		return engine.Errorf(engine.CodeInvalidValue, "voice", "%v; name a voice of English, or lang_code en-us or en-gb", err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return voiceError(err, m.synth.Voices())
}

// Phonemize tells how a text is pronounced in "en-us" (also "") or "en-gb".
func (e *Engine) Phonemize(ctx context.Context, text, language string) ([]engine.Pronunciation, error) {
	s, err := e.texts.Take(ctx, len(text))
	if err != nil {
		return nil, err
	}
	defer s.Release()
	reader, err := e.pronouncer()
	if err != nil {
		return nil, err
	}
	if language == "" {
		language = "en-us"
	}
	tokens, err := reader.Phonemize(ctx, text, language)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, engine.Errorf(engine.CodeInvalidValue, "lang_code", "%v", err)
	}
	out := make([]engine.Pronunciation, len(tokens))
	for i, t := range tokens {
		out[i] = engine.Pronunciation{Text: t.Text, Start: t.Start, End: t.End, Phonemes: t.Phonemes, Space: t.Space, Source: tts.Sources[t.Source]}
	}
	return out, nil
}
