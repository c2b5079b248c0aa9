package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"runtime/debug"
	"time"

	"quern/engine"
	"quern/engine/budget"
	"quern/engine/chat"
	"quern/engine/graph"
	"quern/engine/lm"
	"quern/engine/sched"
	"quern/formats/weights"
)

// A textModel is a language model that is loaded: its weights, its tokenizer,
// and the scheduler that runs it. One that only makes embeddings has no
// scheduler, and so no cache, exec and done of its own.
type textModel struct {
	lm.File
	texts           *budget.Budget // of the engine
	template        *chat.Template // nil when there is none, or none that can be used
	templateOptions chat.Options
	templateErr     error // why the file's template cannot be used

	estimate    lm.Estimate
	fingerprint string
	took        time.Duration // of loading

	exec   graph.Exec
	cache  graph.Cache
	sched  *sched.Scheduler
	cancel context.CancelFunc
	done   chan struct{} // closed when sched.Run has returned

	encoder  encoder  // makes embeddings; nil in models that make none
	embedder embedder // the encoder of recorded models
	embed    embedding
	ranker   ranker // scores pairs of texts; nil in models that are no rerankers
	pair     pairing
}

// How far a load is when its parts end.
const (
	loadStart    = 0.1
	loadFilled   = 0.9
	loadCompiled = 0.95
)

func (e *Engine) openText(ctx context.Context, n *entry) (m *textModel, err error) {
	start := time.Now()
	m = &textModel{File: lm.File{ID: n.id}, embed: n.head.embed, texts: e.texts}
	m.encoder = &m.embedder
	defer func() {
		if err != nil {
			m.free()
		}
	}()
	if m.Raw, err = n.open(); err != nil {
		return m, err
	}
	if err = m.Open(ctx, n.o, e.o.Threads); err != nil {
		return m, err
	}
	c := m.Config
	if err = m.OpenVocab(c); err != nil {
		return m, err
	}
	if err = m.openTemplate(ctx, e, n); err != nil {
		return m, err
	}
	if m.Context > c.Context {
		e.log.WarnContext(ctx, "context_length is beyond what the model was made for", "model", n.id, "context_length", m.Context, "model's", c.Context)
	}
	if n.o.Quantize != "" && lm.Quantised(m.Raw) {
		e.log.WarnContext(ctx, "quantize has no effect on a model that is quantised already", "model", n.id, "quantization", n.head.quant)
	}
	o := n.o.Defaulted()
	p, err := m.Plan(o, e.o.MemoryLimit)
	if err != nil {
		return m, err
	}
	m.estimate = p.Estimate
	m.embedder.prepare(m.LM, p.Encode)
	e.log.InfoContext(ctx, "loading model", "model", n.id, "weight_bytes", p.Weights, "made_bytes", p.Made, "kv_bytes", p.Cache, "kv_tokens", p.Tokens, "compute_bytes", p.Compute, "context", m.Context)
	if err = m.Fits(&p.Estimate, n.o, e.o.MemoryLimit); err != nil {
		return m, err
	}
	if err = e.makeRoom(ctx, n, p.Total()); err != nil {
		return m, err
	}
	e.progress(n.id, loadStart)
	err = m.Set.FillContext(ctx, func(done, total int64) {
		e.progress(n.id, loadStart+(loadFilled-loadStart)*float64(done)/float64(max(1, total)))
	})
	if err != nil {
		return m, err
	}
	m.fingerprint = fingerprint(m.Set, n.head.quant)
	m.embedder.ctx, m.embedder.backend, m.embedder.watch = e.ctx, e.backend, e.watch(n)
	if lm.Embeds(c) {
		if err = m.embedder.open(); err != nil {
			return m, err
		}
		if m.Head != nil {
			if err = m.openBertRanker(); err != nil {
				return m, err
			}
		}
		m.took = time.Since(start)
		e.progress(n.id, 1)
		return m, nil
	}
	if m.cache, err = e.backend.NewCache(p.KV); err != nil {
		return m, err
	}
	if m.exec, err = e.backend.Compile(e.ctx, p.Program, m.embedder.watch); err != nil {
		return m, err
	}
	e.progress(n.id, loadCompiled)
	err = m.schedule(e, sched.Options{
		Exec: m.exec, Cache: m.cache, Blocks: p.KV.Blocks, BlockSize: p.KV.BlockSize,
		Budget: p.Program.Rows, MaxWant: p.Program.Want, Slots: o.Slots, Queue: o.Queue, Context: m.Context,
		Log: e.log.With("model", n.id),
	})
	if err != nil {
		return m, err
	}
	m.took = time.Since(start)
	e.progress(n.id, 1)
	return m, nil
}

// schedule starts the goroutine that owns the model's sequences.
func (m *textModel) schedule(e *Engine, o sched.Options) (err error) {
	if m.sched, err = sched.New(o); err != nil {
		return err
	}
	var ctx context.Context
	ctx, m.cancel = context.WithCancel(e.ctx)
	m.done = make(chan struct{})
	e.work.Add(1)
	go func() {
		defer e.work.Done()
		defer close(m.done)
		if err := m.sched.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
			e.log.Error("scheduler stopped", "model", m.ID, "err", err)
		}
	}()
	return nil
}

func (e *Engine) progress(id string, done float64) {
	if e.o.Progress != nil {
		e.o.Progress(id, done)
	}
}

// fingerprint hashes what makes replies repeatable: the weights (their table
// and the start of each), their number types, and this build.
func fingerprint(set *weights.Set, quantization string) string {
	h := sha256.New()
	for t := range set.All() {
		fmt.Fprintf(h, "%s %v %v %x\n", t.Name, t.Type, t.Shape, t.Data[:min(64, len(t.Data))])
	}
	fmt.Fprintln(h, quantization)
	return stampBuild(h)
}

// stampBuild ends a fingerprint with what is known of this build.
func stampBuild(h hash.Hash) string {
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

func (m *textModel) name() string  { return m.ID }
func (m *textModel) print() string { return m.fingerprint }

// bytes is the memory the model occupies.
func (m *textModel) bytes() int64 { return m.estimate.Total() }

// cacheBytes is the memory of the keys and values.
func (m *textModel) cacheBytes() int64 {
	switch {
	case m.cache != nil:
		return m.cache.Bytes()
	case m.encoder == &m.embedder:
		return m.embedder.Bytes()
	}
	return 0
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
	m.File.Close()
}

func (m *textModel) stats(n *entry) engine.ModelStats {
	var s sched.Stats
	if m.sched != nil {
		s = m.sched.Stats()
	}
	return engine.ModelStats{
		Model: m.ID, Kind: n.head.kind,
		Waiting: s.Waiting, Running: s.Running,
		Blocks: s.Blocks, BlocksUsed: s.BlocksUsed, BlockSize: s.BlockSize,
		PromptTokens: s.PromptTokens, GeneratedTokens: s.GeneratedTokens,
		PrefixQueries: s.PrefixQueries, PrefixHits: s.PrefixHits, Preemptions: s.Preemptions,
		LoadSeconds: m.took.Seconds(), WeightBytes: m.estimate.Weights, CacheBytes: m.cacheBytes(),
	}
}
