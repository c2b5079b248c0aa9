package asr

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"quern/engine/asr/audio"
	"quern/engine/asr/heard"
	"quern/engine/graph"
	"quern/engine/token"
	"quern/formats"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// OpenOptions say how a model is made ready. The zero value works.
type OpenOptions struct {
	// Windows is how many windows of audio are kept in memory at a time, of all
	// requests together; 0 means 4. Others wait.
	Windows int
	// Cache is the number type of keys and values: F16 (the default) or F32.
	Cache quant.Type
	// Watch has the callbacks of the network's Programs.
	Watch graph.Watch
}

// A Model transcribes speech. It is safe for concurrent use.
type Model struct {
	set     *weights.Set
	config  config
	params  *parameters
	vocab   vocabulary
	special specials
	heads   []head // words are aligned by
	bank    *audio.MelBank

	// suppress lists tokens no transcript holds, begin those that do not begin
	// one, and firstStamp is the latest time one may begin with.
	suppress, begin []token.ID
	firstStamp      token.ID
	times           []token.ID // all of them, which a transcript without times bars

	cache  graph.Cache
	blocks *blocks
	most   int // blocks of the cache

	encoder *runner
	decode  *worker
	align   *runner // made when first asked for words
	backend graph.Backend
	watch   graph.Watch
	mu      sync.Mutex // guards the making of align
}

// A runner is a Program that one caller at a time runs. They take turns in the
// order of asking.
type runner struct {
	exec graph.Exec
	free chan struct{}
}

func newRunner(e graph.Exec) *runner {
	r := &runner{exec: e, free: make(chan struct{}, 1)}
	r.free <- struct{}{}
	return r
}

// run calls the Program; f sees its results before another goroutine runs it.
func (r *runner) run(ctx context.Context, in *graph.Batch, kv graph.Cache, f func([][]float32)) error {
	select {
	case <-r.free:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { r.free <- struct{}{} }()
	out, err := r.exec.Run(ctx, in, kv)
	if err == nil && f != nil {
		f(out)
	}
	return err
}

// Open loads a Whisper model: a directory of Hugging Face's or a ggml file of
// whisper.cpp's. It stops when ctx ends. The backend stays the caller's and must
// outlive the Model.
func Open(ctx context.Context, path string, backend graph.Backend, o OpenOptions) (*Model, error) {
	set, err := formats.Open(path)
	if err != nil {
		return nil, err
	}
	m, err := New(ctx, set, backend, o)
	if err != nil {
		set.Close() // the first error is returned
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// New makes a Model of a set, which it closes with itself. Errors wrap ErrFormat
// or ErrUnsupported, or are those of token and graph.
func New(ctx context.Context, set *weights.Set, backend graph.Backend, o OpenOptions) (*Model, error) {
	if err := set.FillContext(ctx, nil); err != nil {
		return nil, err
	}
	m, err := describe(set)
	if err != nil {
		return nil, err
	}
	m.backend, m.watch = backend, o.Watch
	if m.params, err = parametersOf(set, &m.config); err != nil {
		return nil, err
	}
	if err := m.reserve(backend.NewCache, o); err != nil {
		return nil, err
	}
	if err := m.compile(ctx); err != nil {
		m.cache.Close()
		return nil, err
	}
	return m, nil
}

// describe makes a Model of the metadata of a set, still without its
// network.
func describe(set *weights.Set) (m *Model, err error) {
	m = &Model{set: set}
	if m.config, err = configOf(set); err != nil {
		return nil, err
	}
	if m.vocab, err = vocabularyOf(set, m.config.vocab); err != nil {
		return nil, err
	}
	g, err := generationOf(set)
	if err != nil {
		return nil, err
	}
	if m.special, err = specialsOf(&m.config, &g, m.vocab); err != nil {
		return nil, err
	}
	m.heads = alignmentHeads(&m.config, g.Heads)
	m.bank = audio.NewMelBank(m.config.mels)
	m.suppress, m.begin = m.suppressed(&g)
	m.firstStamp = m.special.stamp0 + 50
	for id := m.special.stamp0; int(id) < m.config.vocab; id++ {
		m.times = append(m.times, id)
	}
	if g.FirstStamp != nil && *g.FirstStamp >= 0 && *g.FirstStamp < m.config.encoder.places {
		m.firstStamp = m.special.stamp0 + token.ID(*g.FirstStamp)
	}
	return m, nil
}

// reserve makes the cache.
func (m *Model) reserve(newCache func(graph.CacheSpec) (graph.Cache, error), o OpenOptions) (err error) {
	if o.Windows <= 0 {
		o.Windows = 4
	}
	if o.Cache == quant.Invalid {
		o.Cache = quant.F16
	}
	// Room for one window with the most candidates, and for others with few.
	m.most = max(m.reserved(heard.MaxCandidates), o.Windows*m.reserved(defaultCandidates))
	m.cache, err = newCache(graph.CacheSpec{
		Layers: graph.Alike(m.config.decoder.layers, m.config.decoder.heads, m.config.decoder.headDim()),
		Blocks: m.most, BlockSize: blockSize, Type: o.Cache,
	})
	m.blocks = newBlocks(m.most)
	return err
}

// reserved is how many blocks a window with that many candidates may need.
func (m *Model) reserved(candidates int) int {
	return blocksFor(m.config.encoder.places) + candidates*(blocksFor(m.config.decoder.places)+1)
}

func (m *Model) compile(ctx context.Context) error {
	c := &m.config
	b := graph.NewBuilder(c.encoder.places, 1)
	e, err := m.exec(ctx, b, recordEncoder(b, c, m.params, func(part) {}))
	if err != nil {
		return err
	}
	m.encoder = newRunner(e)
	b = graph.NewBuilder(max(c.decoder.places, maxWant), maxWant)
	logits, _ := recordDecoder(b, c, m.params, nil)
	if e, err = m.exec(ctx, b, logits); err != nil {
		m.encoder.exec.Close()
		return err
	}
	m.decode = startWorker(e, m.cache, max(c.decoder.places, maxWant))
	return nil
}

func (m *Model) exec(ctx context.Context, b *graph.Builder, results ...graph.Value) (graph.Exec, error) {
	p, err := b.Compile(results...)
	if err != nil {
		return nil, err
	}
	return m.backend.Compile(ctx, p, m.watch)
}

// Close ends the decoding goroutine, which must have nothing to do, and releases
// the weights.
func (m *Model) Close() error {
	m.decode.stop()
	m.encoder.exec.Close()
	if m.align != nil {
		m.align.exec.Close()
	}
	m.cache.Close()
	return m.set.Close()
}

// Multilingual reports whether the model has languages beside English.
func (m *Model) Multilingual() bool { return m.special.multilingual() }

// TimesWords reports whether the model gives times of words, which its decoder's attention
// shows.
func (m *Model) TimesWords() bool { return m.params != nil }

// Translates reports whether the model translates to English.
func (m *Model) Translates() bool {
	return m.Multilingual() && !m.config.turbo() && !m.config.distilled()
}

// CacheBytes is the memory of keys and values, which is taken as it is used.
func (m *Model) CacheBytes() int64 { return m.cache.Bytes() }

// suppressed returns the tokens that are no speech and those that begin none. A
// model may list them; language tokens are added, which the reference forgets.
func (m *Model) suppressed(g *generation) (all, begin []token.ID) {
	s := &m.special
	if g.Suppress != nil {
		all = m.known(*g.Suppress) // -1 stands for none
	} else {
		all = m.known(annotationTokens(m.vocab))
	}
	all = append(all, s.translate, s.transcribe, s.sot, s.sotPrev, s.noSpeech)
	if s.sotLM >= 0 {
		all = append(all, s.sotLM)
	}
	all = slices.AppendSeq(all, maps.Values(s.languages))
	if g.BeginSuppress != nil {
		begin = m.known(*g.BeginSuppress)
	} else {
		begin = append(m.known(m.vocab.word(" ")), s.eot)
	}
	return all, begin
}

// known returns those of ids the model has.
func (m *Model) known(ids []token.ID) []token.ID {
	var list []token.ID
	for _, id := range ids {
		if id >= 0 && int(id) < m.config.vocab {
			list = append(list, id)
		}
	}
	return list
}
