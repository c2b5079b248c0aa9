// Package speech speaks texts with a synthesiser that is loaded.
package speech

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"quern/engine"
	"quern/engine/budget"
	"quern/engine/tts"
	"quern/engine/tts/g2p"
	"quern/engine/tts/ssml"
)

// A Reader makes the pronouncer of texts, when it is first asked for.
type Reader func() (*tts.Pronouncer, error)

// A Model is a synthesiser that is loaded.
type Model struct {
	id      string
	synth   tts.Synth
	reader  Reader
	aliases Aliases
	lexicon *tts.Lexicon // the model's own; nil is none
	queue   budget.Queue
	took    time.Duration
	spoken  atomic.Int64 // symbols
}

// New makes a model of a synthesiser which admits that many requests, those that wait
// included, and took so long to load.
func New(id string, synth tts.Synth, reader Reader, aliases Aliases, admits int, took time.Duration) *Model {
	return &Model{id: id, synth: synth, reader: reader, aliases: aliases, queue: budget.Queue{Most: admits}, took: took}
}

// Lexicon reads the file of words and their pronunciations that is the model's own;
// "" is none.
func (m *Model) Lexicon(file string) error {
	if file == "" {
		return nil
	}
	l, err := tts.OpenLexicon(file)
	m.lexicon = l
	return err
}

// Bytes is the memory of the weights.
func (m *Model) Bytes() int64 { return m.synth.Bytes() }

// Close does nothing.
func (m *Model) Close() {}

// Stats is a snapshot of the counters.
func (m *Model) Stats() engine.ModelStats {
	return engine.ModelStats{Model: m.id, Running: m.queue.Len(), GeneratedTokens: m.spoken.Load(), LoadSeconds: m.took.Seconds(), WeightBytes: m.Bytes()}
}

// dictionaries are the files of larger pronunciation dictionaries that may lie
// beside a model.
var dictionaries = []string{"us_gold.json", "us_silver.json", "gb_gold.json", "gb_silver.json"}

// ReaderFor returns a reader with the dictionaries that lie beside a model, else usual.
func ReaderFor(path string, usual Reader) Reader {
	if st, err := os.Stat(path); err == nil && !st.IsDir() {
		path = filepath.Dir(path)
	}
	for _, d := range dictionaries {
		if _, err := os.Stat(filepath.Join(path, d)); err == nil {
			return sync.OnceValues(func() (*tts.Pronouncer, error) { return tts.NewPronouncer(os.DirFS(path)) })
		}
	}
	return usual
}

// Prepare makes the pronouncer and has it read a line, so that no request waits for
// either. An error is returned again at the first request.
func (r Reader) Prepare(ctx context.Context) {
	if reader, err := r(); err == nil {
		_, _ = reader.Phonemize(ctx, tts.Text{Text: "On May 5, 2024, J. Smith paid $3.50 for 2 of them.", Usual: "en-us"})
	}
}

// Speak renders a text, the first utterance first.
func (m *Model) Speak(ctx context.Context, r engine.SpeakRequest) iter.Seq2[engine.Speech, error] {
	return func(yield func(engine.Speech, error) bool) {
		if err := m.queue.Enter(m.id, 2*time.Second); err != nil {
			yield(engine.Speech{}, err)
			return
		}
		inside := true
		defer func() {
			if inside {
				m.queue.Leave()
			}
		}()
		more := r.More
		if more != nil {
			// The queue's slot is not held while waiting for more text.
			more = func(ctx context.Context) (engine.More, error) {
				inside = false
				m.queue.Leave()
				next, err := r.More(ctx)
				if err != nil && !errors.Is(err, io.EOF) {
					return next, err
				}
				if full := m.queue.Enter(m.id, 2*time.Second); full != nil {
					return next, full
				}
				inside = true
				return next, err
			}
		}
		reader, err := m.reader()
		if err != nil {
			yield(engine.Speech{}, err)
			return
		}
		r.Speed = cmp.Or(r.Speed, 1)
		for c, err := range tts.Speak(ctx, m.synth, reader, tts.Request{Text: r.Text, Voice: m.aliases.of(r.Voice), Speed: r.Speed, Seed: r.Seed, Language: r.Language,
			SSML: r.SSML, Lexicons: []*tts.Lexicon{r.Lexicon, m.lexicon}, More: more}) {
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

func (m *Model) failure(err error) error {
	var document *ssml.Error
	switch {
	case errors.Is(err, g2p.ErrFormat):
		return lexiconError(err)
	case errors.As(err, &document), errors.Is(err, tts.ErrUnable), errors.Is(err, tts.ErrScript), errors.Is(err, tts.ErrSilence):
		return engine.Errorf(engine.CodeInvalidValue, "input", "%v", err)
	case errors.Is(err, tts.ErrLanguage):
		return engine.Errorf(engine.CodeInvalidValue, "voice", "%v; name a voice of one of these, or one of them as lang_code", err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return voiceError(err, m.synth.Voices())
}

// lexiconError is of words of a request's lexicon, which are read in the language they occur in.
func lexiconError(err error) error {
	return engine.Errorf(engine.CodeInvalidValue, "lexicon", "lexicon: %s", strings.TrimPrefix(err.Error(), g2p.ErrFormat.Error()+": "))
}

// Phonemize returns how a text is pronounced.
func Phonemize(ctx context.Context, reader *tts.Pronouncer, r engine.PhonemizeRequest) ([]engine.Pronunciation, error) {
	tokens, err := reader.Phonemize(ctx, tts.Text{Text: r.Text, SSML: r.SSML, Language: r.Language, Usual: "en-us", Lexicons: []*tts.Lexicon{r.Lexicon}})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	switch {
	case err == nil:
	case errors.Is(err, tts.ErrLanguage):
		return nil, engine.Errorf(engine.CodeInvalidValue, "lang_code", "%v", err)
	case errors.Is(err, g2p.ErrFormat):
		return nil, lexiconError(err)
	default:
		return nil, engine.Errorf(engine.CodeInvalidValue, "input", "%v", err)
	}
	out := make([]engine.Pronunciation, len(tokens))
	for i, t := range tokens {
		out[i] = engine.Pronunciation{Text: t.Text, Start: t.Start, End: t.End, Phonemes: t.Phonemes, Space: t.Space, Source: tts.Sources[t.Source]}
	}
	return out, nil
}
