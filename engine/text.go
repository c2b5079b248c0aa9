package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"quern/engine/chat"
	"quern/engine/graph"
	"quern/engine/model"
	"quern/engine/sched"
	"quern/engine/token"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// A textModel is a language model that is loaded: its weights, its tokenizer,
// and the scheduler that runs it. One that only makes embeddings has no
// scheduler, and so no cache, exec and done of its own.
type textModel struct {
	id              string
	set             *weights.Set
	lm              model.LM
	vocab           *token.Vocab
	template        *chat.Template // nil when there is none, or none that can be used
	templateOptions chat.Options
	templateErr     error // why the file's template cannot be used

	context     int
	fingerprint string
	took        time.Duration // of loading

	exec   graph.Exec
	cache  graph.Cache
	sched  *sched.Scheduler
	cancel context.CancelFunc
	done   chan struct{} // closed when sched.Run has returned

	embedder embedder
}

// wantRows bounds the rows of a step whose logits are read: one per decoding
// sequence, and prompt chunks whose log-probabilities are asked for.
const wantRows = 64

func (e *Engine) openText(n *entry) (m *textModel, err error) {
	start := time.Now()
	m = &textModel{id: n.id}
	defer func() {
		if err != nil {
			m.free()
		}
	}()
	if m.set, err = n.open(); err != nil {
		return m, err
	}
	e.progress(n.id, 0.1)
	if m.lm, err = model.Open(m.set); err != nil {
		return m, err
	}
	if err = m.set.Fill(); err != nil {
		return m, err
	}
	c := m.lm.Config()
	if err = m.openVocab(c); err != nil {
		return m, err
	}
	if err = m.openTemplate(e, n); err != nil {
		return m, err
	}
	e.progress(n.id, 0.4)
	m.context = n.o.contextLength(c)
	c.Served = m.context
	if m.context > c.Context {
		e.log.Warn("context_length is beyond what the model was made for", "model", n.id, "context_length", m.context, "model's", c.Context)
	}
	m.fingerprint = fingerprint(m.set, n.head.quant)

	o := n.o.or(ModelOptions{Slots: 64, Batch: defaultBatch, CacheType: quant.F16})
	if n.head.kind == KindEmbedding {
		m.embedder.plan(e.backend, m, o)
		if err = e.makeRoom(n.id, m.set.Bytes()+m.embedder.bytes()); err != nil {
			return m, err
		}
		if err = m.embedder.open(); err != nil {
			return m, err
		}
		m.took = time.Since(start)
		e.progress(n.id, 1)
		return m, nil
	}
	spec, err := m.cacheSpec(e, o)
	if err != nil {
		return m, err
	}
	if err = e.makeRoom(n.id, m.set.Bytes()+spec.bytes); err != nil {
		return m, err
	}
	if m.cache, err = e.backend.NewCache(spec.CacheSpec); err != nil {
		return m, err
	}
	b := graph.NewBuilder(o.Batch, min(o.Batch, wantRows))
	p, err := b.Compile(m.lm.Logits(b, m.lm.Hidden(b)))
	if err != nil {
		return m, err
	}
	if m.exec, err = e.backend.Compile(p); err != nil {
		return m, err
	}
	e.progress(n.id, 0.9)
	m.sched, err = sched.New(sched.Options{
		Exec: m.exec, Cache: m.cache, Blocks: spec.Blocks, BlockSize: spec.BlockSize,
		Budget: p.Rows, MaxWant: p.Want, Slots: o.Slots, Queue: o.Queue, Context: m.context,
		Log: e.log.With("model", n.id),
	})
	if err != nil {
		return m, err
	}
	m.embedder.plan(e.backend, m, o)
	var ctx context.Context
	ctx, m.cancel = context.WithCancel(e.ctx)
	m.done = make(chan struct{})
	e.work.Add(1)
	go func() {
		defer e.work.Done()
		defer close(m.done)
		if err := m.sched.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
			e.log.Error("scheduler stopped", "model", n.id, "err", err)
		}
	}()
	m.took = time.Since(start)
	e.progress(n.id, 1)
	return m, nil
}

func (e *Engine) progress(id string, done float64) {
	if e.o.Progress != nil {
		e.o.Progress(id, done)
	}
}

func (m *textModel) openVocab(c *model.Config) error {
	spec, err := token.From(&m.set.Meta)
	if err != nil {
		return err
	}
	if m.vocab, err = token.New(spec); err != nil {
		return err
	}
	if m.vocab.Size() > c.Vocab {
		return fmt.Errorf("%w: a vocabulary of %d tokens with %d embeddings", model.ErrFormat, m.vocab.Size(), c.Vocab)
	}
	return nil
}

// A cachePlan is a cache with its size in bytes.
type cachePlan struct {
	graph.CacheSpec
	bytes int64
}

// cacheSpec sizes the KV pool: what the options say, else room for every slot's
// full context, but no more than a quarter of the memory.
func (m *textModel) cacheSpec(e *Engine, o ModelOptions) (cachePlan, error) {
	c := m.lm.Config()
	row, ok := o.CacheType.Size(c.HeadDim)
	if !ok {
		return cachePlan{}, errorf(CodeEngineFailure, "", "model %q: heads of %d do not fit a KV cache of %v; use F16", m.id, c.HeadDim, o.CacheType)
	}
	perBlock := int64(2*c.Layers*c.KVHeads*row) * blockSize
	one := int64((m.context + blockSize - 1) / blockSize)
	blocks := one * int64(o.Slots)
	switch {
	case o.CacheBytes > 0:
		blocks = o.CacheBytes / perBlock
	case blocks*perBlock > e.o.MemoryLimit/4:
		blocks = max(one, e.o.MemoryLimit/4/perBlock)
	}
	if blocks < one {
		return cachePlan{}, errorf(CodeOutOfMemory, "", "model %q: cache_memory of %s holds %d tokens of its context of %d; raise cache_memory to %s or lower context_length",
			m.id, mebibytes(o.CacheBytes), blocks*blockSize, m.context, mebibytes(one*perBlock))
	}
	blocks = min(blocks, 1<<30)
	return cachePlan{bytes: blocks * perBlock, CacheSpec: graph.CacheSpec{
		Layers: c.Layers, KVHeads: c.KVHeads, HeadDim: c.HeadDim,
		Blocks: int(blocks), BlockSize: blockSize, Type: o.CacheType,
	}}, nil
}

// fingerprint hashes what makes replies repeatable: the weights (their table
// and the start of each), their number types, and this build.
func fingerprint(set *weights.Set, quantization string) string {
	h := sha256.New()
	for t := range set.All() {
		fmt.Fprintf(h, "%s %v %v %x\n", t.Name, t.Type, t.Shape, t.Data[:min(64, len(t.Data))])
	}
	fmt.Fprintln(h, quantization)
	if info, ok := debug.ReadBuildInfo(); ok {
		fmt.Fprintln(h, info.Main.Version, info.GoVersion)
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" || s.Key == "vcs.modified" {
				fmt.Fprintln(h, s.Value)
			}
		}
	}
	return "fp_" + hex.EncodeToString(h.Sum(nil)[:6])
}

// bytes is the memory the model occupies.
func (m *textModel) bytes() int64 { return m.set.Bytes() + m.cacheBytes() }

// cacheBytes is the memory of the keys and values.
func (m *textModel) cacheBytes() int64 {
	if m.cache == nil {
		return m.embedder.bytes()
	}
	return m.cache.Bytes()
}

// close stops the scheduler, waits for it and releases everything.
func (m *textModel) close() {
	if m.sched != nil {
		m.cancel()
		<-m.done
	}
	m.free()
}

func (m *textModel) free() {
	m.embedder.close()
	if m.exec != nil {
		m.exec.Close()
	}
	if m.cache != nil {
		m.cache.Close()
	}
	if m.set != nil {
		m.set.Close()
	}
}

func (m *textModel) stats(n *entry) ModelStats {
	var s sched.Stats
	if m.sched != nil {
		s = m.sched.Stats()
	}
	return ModelStats{
		Model: m.id, Kind: n.head.kind,
		Waiting: s.Waiting, Running: s.Running,
		Blocks: s.Blocks, BlocksUsed: s.BlocksUsed, BlockSize: s.BlockSize,
		PromptTokens: s.PromptTokens, GeneratedTokens: s.GeneratedTokens,
		PrefixQueries: s.PrefixQueries, PrefixHits: s.PrefixHits, Preemptions: s.Preemptions,
		LoadSeconds: m.took.Seconds(), WeightBytes: m.set.Bytes(), CacheBytes: m.cacheBytes(),
	}
}
